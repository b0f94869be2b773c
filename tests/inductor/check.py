"""Compares what the compiled function gives with eager torch, in the dtype and in float64."""

import copy
from collections.abc import Iterator
from typing import Any

import torch

from tests.inductor.case import Program


def run(program: Program, fn: Any, args: tuple[Any, ...]) -> list[Any]:
    """The leaves of the result; for training, of the gradients too."""
    if not program.train:
        with torch.no_grad():
            return list(leaves(fn(*args)))
    wanted = [t for t in (*args, *parameters(fn)) if isinstance(t, torch.Tensor) and t.requires_grad]
    for tensor in wanted:
        tensor.grad = None
    out = list(leaves(fn(*args)))
    loss = sum((t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape)).sum() for t in out
               if t.requires_grad)  # fmt: skip
    loss.backward()
    return [t.detach() for t in out] + [tensor.grad for tensor in wanted]


def parameters(fn: Any) -> list[torch.Tensor]:
    return list(fn.parameters()) if isinstance(fn, torch.nn.Module) else []


def leaves(value: Any) -> Iterator[Any]:
    """The tensors and numbers of nested tuples, lists and dicts."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value


def double(value: Any) -> Any:
    """The same argument or module in float64."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).double()
    if isinstance(value, torch.Tensor):
        wide = value.detach().to(torch.float64) if value.is_floating_point() else value.clone()
        return wide.requires_grad_(value.requires_grad)
    if isinstance(value, tuple | list):
        return type(value)(double(item) for item in value)
    return value


def fresh(value: Any) -> Any:
    """A copy, so that what is written into one run's argument is not seen by the next."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.preserve_format).requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value)
    return type(value)(fresh(item) for item in value) if isinstance(value, tuple | list) else value


def compare(program: Program, compiled: Any, args: tuple[Any, ...]) -> float:
    """The largest share of its bound that an error takes. AssertionError where one is over, or shapes differ."""
    wide = run(program, double(program.fn), tuple(map(double, args))) if program.exact else None
    eager = run(program, fresh(program.fn), tuple(map(fresh, args)))
    got = run(program, compiled, tuple(map(fresh, args)))
    assert len(got) == len(eager)
    return max(
        share(i, g, e, wide[i] if wide is not None else e) for i, (g, e) in enumerate(zip(got, eager, strict=True))
    )


def share(i: int, got: Any, eager: Any, exact: Any) -> float:
    """How much of its bound the error of result i takes."""
    if not isinstance(eager, torch.Tensor):
        assert got == eager, f"result {i}: {got}, eager gives {eager}"
        return 0.0
    facts = [(t.dtype, tuple(t.shape), t.stride()) for t in (got, eager)]
    assert facts[0] == facts[1], f"result {i}: (dtype, shape, strides) {facts[0]}, eager gives {facts[1]}"
    if not eager.is_floating_point():
        assert torch.equal(got, eager), f"result {i}: {(got != eager).sum()} of {got.numel()} elements differ"
        return 0.0
    assert torch.equal(got.isnan(), eager.isnan()), f"result {i}: not the same elements are NaN"
    error, theirs = distance(got, exact), distance(eager, exact)
    largest = exact[exact.isfinite()].abs().max().item() if exact.isfinite().any() else 0.0
    bound = 3 * theirs + 8 * torch.finfo(eager.dtype).eps * max(largest, 1e-30)
    assert error <= bound, f"result {i}: off by {error:.3g}, eager by {theirs:.3g}, allowed {bound:.3g}"
    return error / bound


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; infinities and NaN that are the same differ by nothing."""
    a, b = a.to(torch.float64), b.to(a.dtype).to(torch.float64) if b.isinf().any() else b.to(torch.float64)
    gap = (a - b).abs()
    gap = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, gap)
    return gap.max().item() if gap.numel() else 0.0
