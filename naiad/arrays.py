"""Arrays to try kernels on: torch tensors where torch is installed, else numpy arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


_NAMES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool",
          "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp8e4b8": "float8_e4m3fnuz",
          "fp8e5b16": "float8_e5m2fnuz"}  # fmt: skip


def dtype_name(dtype: Any) -> str:
    """The name that torch and numpy have for a dtype: of them, of the language, or a name (`float32`, `fp32`, `i8`)."""
    from naiad.backends.signature import canonicalize_dtype

    short = canonicalize_dtype(np.dtype(dtype) if isinstance(dtype, type) else dtype)
    return _NAMES.get(short) or ("uint" if short[0] == "u" else "int") + short[1:]


def _numpy_dtype(name: str) -> np.dtype:
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def random(shape: int | Sequence[int], dtype: Any = "float32", device: Any = "cpu", seed: int = 0) -> Any:
    """Normally distributed numbers; for integer dtypes and bool, all values are equally likely."""
    rng = np.random.default_rng(seed)
    dtype = dtype_name(dtype)
    kind = _numpy_dtype(dtype)
    if kind.kind == "b":
        values: Any = rng.integers(0, 2, shape).astype(bool)
    elif kind.kind in "iu":
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, shape, kind, endpoint=True)
    else:
        values = rng.standard_normal(shape, np.float32)
    return _on(values, dtype, device)


def empty(shape: int | Sequence[int], dtype: Any = "float32", device: Any = "cpu") -> Any:
    """Memory for a result. Floats are NaN at first, so that what a kernel leaves out is seen."""
    dtype = dtype_name(dtype)
    kind = _numpy_dtype(dtype)
    return _on(np.full(shape, 77 if kind.kind in "iub" else np.nan, np.float32), dtype, device)


def _on(values: np.ndarray, dtype: str, device: Any) -> Any:
    if (torch := _torch()) is None:
        if str(device) != "cpu":
            raise ValueError(f"arrays on {device!r} need torch, and torch is not installed")
        return values.astype(_numpy_dtype(dtype))
    return torch.tensor(values, dtype=getattr(torch, dtype), device=device)  # in torch's memory, aligned as it does it


def to_float64(array: Any) -> np.ndarray:
    """The numbers of an array as float64, in host memory."""
    if hasattr(array, "detach"):
        return array.detach().cpu().double().numpy()
    return np.asarray(array).astype(np.float64)
