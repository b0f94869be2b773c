"""The rows of the demo: an example kernel, its inputs, what is right, and how the array library does the same work."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import naiad
from naiad.arrays import empty, random, to_float64


@dataclass(frozen=True)
class Row:
    """One line of the table.

    run: launches the kernel, giving its output. reference: the right values in float64. peer: the same work by torch or
    numpy. bound: the largest error that passes, relative to the largest right value. bytes, flops: the work of one run.
    """

    name: str
    run: Callable[[], Any]
    reference: Callable[[], np.ndarray]
    peer: Callable[[], Any]
    bound: float
    bytes: int = 0
    flops: int = 0


def example(name: str) -> ModuleType:
    """A file of examples/: beside the package in a checkout, inside of it when installed."""
    package = Path(naiad.__file__).parent
    for folder in (package.parent / "examples", package / "examples"):
        if (path := folder / f"{name}.py").is_file():
            spec = importlib.util.spec_from_file_location(f"naiad.examples.{name}", path)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise FileNotFoundError(f"examples/{name}.py is neither beside nor inside {package}")


def rows(quick: bool = False) -> Iterator[Row]:
    """All rows; `quick` makes the sizes small, for tests."""
    small = 8 if quick else 1
    yield vector_add((1 << 22) // small + 77)
    yield softmax(2048 // small, 1000)
    yield layer_norm(2048 // small, 1000)
    for dtype, bound in (("float32", 1e-5), ("bfloat16", 1e-2)):
        yield matmul(1024 // small, dtype, bound)
    yield attention(8, 1024 // small, 64)
    yield dropout((1 << 22) // small + 77)


def vector_add(n: int) -> Row:
    kernel = example("vector_add")
    x, y, out, peer = random((n,), seed=0), random((n,), seed=1), empty((n,)), empty((n,))
    return Row(f"vector add {n}", lambda: kernel.add(x, y, out), lambda: to_float64(x) + to_float64(y),
               lambda: _add(x, y, peer), 1e-6, bytes=12 * n)  # fmt: skip


def _add(x: Any, y: Any, out: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.add(x, y, out=out)
    import torch

    return torch.add(x, y, out=out)


def softmax(rows: int, cols: int) -> Row:
    kernel = example("softmax")
    x, out, peer = random((rows, cols)), empty((rows, cols)), empty((rows, cols))
    return Row(f"softmax {rows}x{cols}", lambda: kernel.softmax(x, out), lambda: kernel.reference(x),
               lambda: _softmax(x, peer), 1e-6, bytes=8 * rows * cols)  # fmt: skip


def _softmax(x: Any, out: Any = None) -> Any:
    if not isinstance(x, np.ndarray):
        import torch

        return torch._softmax(x, -1, False, out=out)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.divide(e, e.sum(axis=-1, keepdims=True), out=out)


def layer_norm(rows: int, cols: int) -> Row:
    kernel = example("layer_norm")
    x, weight, bias = random((rows, cols)), random((cols,), seed=1), random((cols,), seed=2)
    out = empty((rows, cols))
    return Row(f"layer norm {rows}x{cols}", lambda: kernel.layer_norm(x, weight, bias, out),
               lambda: kernel.reference(x, weight, bias), lambda: _layer_norm(x, weight, bias), 1e-5,
               bytes=8 * rows * cols)  # fmt: skip


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    if isinstance(x, np.ndarray):
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    import torch

    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, 1e-5)


def matmul(n: int, dtype: str, bound: float) -> Row:
    kernel = example("matmul")
    a, b, out = random((n, n), dtype, seed=0), random((n, n), dtype, seed=1), empty((n, n), dtype)
    peer = empty((n, n), dtype)
    return Row(f"matmul {n}^3 {'f32' if dtype == 'float32' else 'bf16'}", lambda: kernel.matmul(a, b, out),
               lambda: to_float64(a) @ to_float64(b), lambda: _matmul(a, b, peer), bound, flops=2 * n**3)  # fmt: skip


def _matmul(a: Any, b: Any, out: Any) -> Any:
    if isinstance(a, np.ndarray):
        return np.matmul(a, b, out=out)
    import torch

    return torch.matmul(a, b, out=out)


def attention(heads: int, length: int, depth: int) -> Row:
    kernel = example("flash_attention")
    q, k, v = (random((heads, length, depth), seed=s) for s in range(3))
    out, scale = empty((heads, length, depth)), depth**-0.5
    return Row(f"attention {heads}x{length}x{depth}", lambda: kernel.attention(q, k, v, out, scale),
               lambda: kernel.reference(q, k, v, scale), lambda: _attention(q, k, v, scale), 1e-5,
               flops=4 * heads * length**2 * depth)  # fmt: skip


def _attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    if isinstance(q, np.ndarray):
        return _softmax(q @ k.transpose(0, 2, 1) * scale) @ v
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0]


def dropout(n: int) -> Row:
    kernel = example("dropout")
    x, out = random((n,)), empty((n,))
    return Row(f"dropout {n}", lambda: kernel.dropout(x, out, 0.25, 123), lambda: kernel.reference(x, 0.25, 123),
               lambda: _dropout(x), 1e-6, bytes=8 * n)  # fmt: skip


def _dropout(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        keep = np.random.default_rng(0).random(x.shape, np.float32) > 0.25
        return np.where(keep, x / np.float32(0.75), np.float32(0))
    import torch

    return torch.nn.functional.dropout(x, 0.25)
