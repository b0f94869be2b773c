"""Rules of atomics. Programs run one after the other, lanes of an op in row-major order: each sees those before it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from naiad.ir.evaluate import evaluate
from naiad.language.types import dtype
from naiad.runtime.interpreter.memory import Access, peek, poke
from naiad.runtime.interpreter.tiles import Rule, Tile, element_of

Update = Callable[[Tile, Tile], Tile]
"""What memory holds after an atomic: of what it held, and the operand."""

_OPS = {
    "add": "arith.addi", "fadd": "arith.addf", "and": "arith.andi", "or": "arith.ori", "xor": "arith.xori",
    "umax": "arith.maxui", "umin": "arith.minui",
}  # fmt: skip


def update_of(op: str, element: np.dtype) -> Update:
    if op in ("exch", "xchg"):
        return lambda old, new: new
    floating = element.kind != "i"
    name = _OPS.get(op) or {"max": "arith.max", "min": "arith.min"}[op] + ("numf" if floating else "si")
    return lambda old, new: evaluate(name, [old, new], element)


def rounds(addresses: Tile) -> list[Tile]:
    """Indices of the addresses such that no address is twice in a round; equal ones keep their order."""
    order = np.argsort(addresses, kind="stable")
    ranked = addresses[order]
    new = np.concatenate([[True], ranked[1:] != ranked[:-1]]) if len(ranked) else np.zeros(0, bool)
    first = np.maximum.accumulate(np.where(new, np.arange(len(ranked)), 0)) if len(ranked) else np.zeros(0, int)
    rank = np.arange(len(ranked)) - first
    return [order[rank == i] for i in range(int(rank.max(initial=-1)) + 1)]


def change(
    builder: Any, access: Access, element: np.dtype, values: Sequence[Tile], update: Callable[..., Tile]
) -> Tile:
    """Replaces each element in memory by update(it, values...) and gives what was there; 0 in the other lanes."""
    builder.buffers.check(access.addresses, element.itemsize, "atomic access to")
    operands = [np.broadcast_to(value, access.lanes.shape)[access.lanes] for value in values]
    before = np.zeros(len(access.addresses), element)
    for indices in rounds(access.addresses):
        at = access.addresses[indices]
        before[indices] = peek(at, element)
        poke(at, update(before[indices], *(operand[indices] for operand in operands)).astype(element))
    result = np.zeros(access.lanes.shape, element)
    result[access.lanes] = before
    return builder.held(result)


def read_modify_write(
    builder: Any, operands: Sequence[Any], type: dtype, atomic_rmw_op: str, sem: str = "", scope: str = ""
) -> Tile:
    """add, fadd, and, or, xor, max, min, umax, umin, exch; gives what memory held before."""
    pointer, value, mask = (*operands, None)[:3]
    element = np.asarray(value).dtype
    return change(builder, Access.of(pointer, mask), element, [value], update_of(atomic_rmw_op, element))


def compare_and_swap(builder: Any, operands: Sequence[Any], type: dtype, sem: str = "", scope: str = "") -> Tile:
    """Writes the value where memory holds the bits of `compare`; gives what memory held before."""
    pointer, compare, value = operands

    def update(old: Tile, expected: Tile, new: Tile) -> Tile:
        bits = f"i{element.itemsize}"
        equal = np.ascontiguousarray(old).view(bits) == np.ascontiguousarray(expected).view(bits)
        return np.where(equal, new, old)

    element = element_of(type)
    return change(builder, Access.of(pointer, None), element, [compare, value], update)


RULES: dict[str, Rule] = {"tt.atomic_rmw": read_modify_write, "tt.atomic_cas": compare_and_swap}
