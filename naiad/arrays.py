"""Arrays to try kernels on: torch tensors where torch is installed, else numpy arrays."""

from typing import Any

import numpy as np


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _numpy_dtype(dtype: str) -> np.dtype:
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def random(shape: tuple[int, ...], dtype: str = "float32", device: str = "cpu", seed: int = 0) -> Any:
    """Normally distributed numbers; for integer dtypes, all values are equally likely."""
    rng = np.random.default_rng(seed)
    kind = _numpy_dtype(dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, shape, kind, endpoint=True)
    else:
        values = rng.standard_normal(shape, np.float32)
    return _on(values, dtype, device)


def empty(shape: tuple[int, ...], dtype: str = "float32", device: str = "cpu") -> Any:
    """Memory for a result. Floats are NaN at first, so that what a kernel leaves out is seen."""
    kind = _numpy_dtype(dtype)
    return _on(np.full(shape, 77 if kind.kind in "iub" else np.nan, np.float32), dtype, device)


def _on(values: np.ndarray, dtype: str, device: str) -> Any:
    if (torch := _torch()) is None:
        if device != "cpu":
            raise ValueError(f"arrays on {device!r} need torch, and torch is not installed")
        return values.astype(_numpy_dtype(dtype))
    return torch.tensor(values, dtype=getattr(torch, dtype), device=device)  # in torch's memory, aligned as it does it


def to_float64(array: Any) -> np.ndarray:
    """The numbers of an array as float64, in host memory."""
    if hasattr(array, "detach"):
        return array.detach().cpu().double().numpy()
    return np.asarray(array).astype(np.float64)
