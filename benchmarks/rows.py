"""What is timed on the CPU: each row runs the same work by naiad and by its peer, torch eager or numpy."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import kernels
import numpy as np
import torch

import naiad
from naiad.demo import rows as demo


@dataclass(frozen=True)
class Row:
    """ours, peer: the two calls. target: the ratio (peer's time over ours) that is asked for, `check` compares
    results."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    target: float
    peer_name: str = "torch"
    compute_bound: bool = False
    check: Callable[[], bool] = lambda: True


def rows() -> Iterator[Row]:
    """All rows, made when they are asked for: some inputs are large."""
    yield from examples()
    yield from library()


def examples() -> Iterator[Row]:
    """The kernels of examples/."""
    for row, target, bound in (
        (demo.vector_add(1 << 24), 0.95, False),
        (demo.softmax(4096, 1024), 1.4, False),
        (demo.layer_norm(4096, 1024), 1.0, False),
        (demo.matmul(1024, "float32", 1e-5), 0.9, True),
        (demo.matmul(1024, "bfloat16", 1e-2), 0.9, True),
        (demo.attention(8, 1024, 64), 1.1, True),
        (demo.dropout(1 << 22), 1.0, False),
    ):
        from naiad.demo.main import max_error

        check = lambda r=row: max_error(r.run(), r.reference()) <= r.bound  # noqa: E731
        yield Row(row.name, row.run, row.peer, target, compute_bound=bound, check=check)


def library() -> Iterator[Row]:
    """One function of the language each."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(8192, 2048, generator=g)
    out = torch.empty_like(x)
    yield equal(Row("cumsum 8192x2048", lambda: launch(kernels.cumsum_kernel, 8192, x, out, BLOCK=2048),
                    lambda: np.cumsum(x.numpy(), axis=1), 5.0, "numpy"),
                out, lambda: x.double().cumsum(1), 1e-3)  # fmt: skip
    y = torch.randn(4096, 1024, generator=g)
    ordered = torch.empty_like(y)
    yield equal(Row("sort 4096x1024", lambda: launch(kernels.sort_kernel, 4096, y, ordered, BLOCK=1024),
                    lambda: np.sort(y.numpy(), axis=1), 1.5, "numpy"), ordered, lambda: y.sort(1).values)  # fmt: skip
    top = torch.empty(4096, 16)
    yield equal(Row("topk 16 of 4096x1024", lambda: launch(kernels.topk_kernel, 4096, y, top, BLOCK=1024, K=16),
                    lambda: torch.topk(y, 16), 1.0), top, lambda: y.topk(16).values)  # fmt: skip
    where = torch.empty(4096, dtype=torch.int32)
    yield equal(Row("argmax 4096x1024", lambda: launch(kernels.argmax_kernel, 4096, y, where, BLOCK=1024),
                    lambda: torch.argmax(y, 1), 1.0), where, lambda: y.argmax(1).int())  # fmt: skip
    n = torch.randint(0, 256, (256, 4096), dtype=torch.int32, generator=g)
    counts = torch.empty(256, 256, dtype=torch.int32)
    wanted = lambda: torch.stack([torch.bincount(r, minlength=256) for r in n]).int()  # noqa: E731
    count = lambda: launch(kernels.histogram_kernel, 256, n, counts, BLOCK=4096, BINS=256)  # noqa: E731
    yield equal(Row("histogram 256x4096", count, wanted, 1.0), counts, wanted)
    table = torch.randn(50_000, 256, generator=g)
    index = torch.randint(0, 50_000, (16_384,), dtype=torch.int32, generator=g)
    picked = torch.empty(16_384, 256)
    yield equal(Row("embedding 16384x256",
                    lambda: launch(kernels.embedding_kernel, 1024, index, table, picked, WIDTH=256, ROWS=16),
                    lambda: torch.nn.functional.embedding(index, table), 0.8),
                picked, lambda: table[index.long()])  # fmt: skip
    for name, weights, dtype in (("int8", torch.int8, "float32"), ("fp8", torch.float8_e4m3fn, "bfloat16")):
        yield dequantised(name, weights, dtype)


def launch(kernel: Any, programs: int, *arguments: Any, **constants: Any) -> None:
    kernel[(programs,)](*arguments, **constants)


def equal(row: Row, out: torch.Tensor, right: Callable[[], torch.Tensor], tolerance: float = 0.0) -> Row:
    """The row, checked against what is right."""

    def check() -> bool:
        out.fill_(77)
        row.ours()
        return bool(((out.double() - right().double()).abs() <= tolerance).all())

    return replace(row, check=check)


def dequantised(name: str, weights: torch.dtype, dtype: str) -> Row:
    """A product with 8-bit weights against our own product without."""
    n = 1024
    plain = demo.matmul(n, dtype, 1e-2)
    a = torch.randn(n, n).to(getattr(torch, dtype))
    b = torch.randint(-8, 8, (n, n)).float().to(weights)
    scale, out = torch.rand(n), torch.empty(n, n, dtype=a.dtype)
    grid = (n // 256, n // 256)
    ours = lambda: kernels.dequant_matmul_kernel[grid](a, b, scale, out, n, n, n, BM=256, BN=256, BK=256)  # noqa: E731
    right = lambda: (a.double() @ b.double()) * scale.double()  # noqa: E731
    row = Row(f"matmul {n}^3 {dtype} x {name}", ours, plain.run, 0.7, "naiad without")
    return equal(row, out, right, 2.0 if dtype == "bfloat16" else 1e-2)


__all__ = ["Row", "naiad", "rows"]
