"""Which layout the result of each dot has: that of a matrix instruction where there is one, else a box per thread."""

from collections.abc import Mapping

from xdsl.dialects.builtin import IntegerType, TensorType, i32
from xdsl.ir import Operation, SSAValue

from naiad.ir.base import bits, element, shape
from naiad.layouts.distributed import CGA, Blocked, Distributed
from naiad.layouts.mma import NvidiaMma

__all__ = ["dot_layouts", "has_matrix_instruction"]

FP8 = ("f8E4M3FN", "f8E5M2")
SMALL = ("f16", "bf16", *FP8)


def has_matrix_instruction(op: Operation, fp8: bool) -> bool:
    """Whether mma.sync computes a dot with its types and precision."""
    a, b, c = (element(o.type) for o in op.operands)
    precision = op.properties.get("inputPrecision")
    if c.name == "f32" and a.name == b.name == "f32":
        return precision is None or precision.data == "tf32"
    if "f8" in a.name or "f8" in b.name:
        return fp8 and a.name in SMALL and b.name in SMALL and "f8" in a.name and "f8" in b.name and c.name == "f32"
    if a.name == b.name and a.name in SMALL:
        return c.name == "f32" or (a.name == c.name == "f16")
    return a == b and bits(a) == 8 and isinstance(a, IntegerType) and isinstance(c, IntegerType) and bits(c) == 32


def is_large_enough(op: Operation) -> bool:
    """Whether every dimension fills a fragment."""
    *_, m, n = shape(op.results[0].type)
    k = shape(op.operands[0].type)[-1]
    return m >= 16 and n >= 8 and k * bits(op.operands[0].type) >= 256


def feeds_dot(value: SSAValue, seen: set[SSAValue]) -> bool:
    """Whether a value reaches an operand of another dot in the same turn of a loop."""
    if value in seen:
        return False
    seen.add(value)
    for use in value.uses:
        if use.operation.name == "tt.dot" and use.index < 2:
            return True
        if use.operation.name != "tt.dot" and any(
            isinstance(r.type, TensorType) and feeds_dot(r, seen) for r in use.operation.results
        ):
            return True
    return False


def is_chained(op: Operation) -> bool:
    """Whether a dot makes, or takes, an operand of another: then warps must not share rows."""
    if feeds_dot(op.results[0], set()):
        return True
    seen: set[Operation] = set()
    work = [o.owner for o in op.operands[:2]]
    while work:
        owner = work.pop()
        if not isinstance(owner, Operation) or owner in seen:
            continue
        if owner.name == "tt.dot":
            return True
        seen.add(owner)
        if len(seen) < 200:
            work += [o.owner for o in owner.operands]
    return False


def warps_over(rows: int, columns: int, warps: int) -> tuple[int, int]:
    """Deals warps over rows and columns of a tile so that each one's share is as square as fragments allow."""
    down, across = 1, 1
    while down * across < warps:
        if rows // (16 * down) >= columns // (16 * across) and 16 * down < rows:
            down *= 2
        else:
            across *= 2
    return down, across


def ctas_over(op: Operation, ctas: int, rows: int, columns: int) -> tuple[CGA, int, int]:
    """How CTAs share the result of a dot, and the rows and columns of each: rows first, down to so many at least."""
    *batch, m, n = shape(op.results[0].type)
    none = (0,) * len(batch)
    row, column, steps = 1, 1, list[tuple[int, ...]]()
    for _ in range(ctas.bit_length() - 1):
        if m // 2 >= rows:
            steps.append((*none, row, 0))
            m, row = m // 2, 2 * row
        elif n // 2 >= columns:
            steps.append((*none, 0, column))
            n, column = n // 2, 2 * column
        else:
            steps.append((*none, 0, 0))
    return tuple(steps), m, n


def mma_layout(op: Operation, warps: int, ctas: int) -> NvidiaMma:
    batch = shape(op.results[0].type)[:-2]
    cga, m, n = ctas_over(op, ctas, 16, 8)
    if batch:
        spread = min(warps, batch[0])
        return NvidiaMma((2, 0), (spread, *warps_over(m, n, warps // spread)), (1, 16, 8), cga)
    dealt = (warps, 1) if is_chained(op) else warps_over(m, n, warps)
    return NvidiaMma((2, 0), dealt, (16, 8), cga)


def fits_wgmma(op: Operation, warps: int, accesses: Mapping[Operation, Blocked]) -> bool:
    """Whether wgmma computes a dot: 8- or 16-bit floats into f32, i8 into i32, warpgroups of four warps, 64 rows each.

    Rows in shared memory have 32 bytes at least: 8 columns of 16-bit floats are left to mma.sync.
    """
    a, b, c = (element(o.type).name for o in op.operands)
    sizes, k = shape(op.results[0].type), shape(op.operands[0].type)[-1]
    if len(sizes) != 2 or sizes[0] < 64 or k * bits(op.operands[0].type) < 256 or warps % 4:
        return False
    if c != "f32":
        return element(op.operands[2].type) == i32 and run_along_k(op, accesses)
    return (a == b and a in ("f16", "bf16") and sizes[1] >= 16) or (a in FP8 and b in FP8 and fits_fp8(op, k, accesses))


def fits_fp8(op: Operation, k: int, accesses: Mapping[Operation, Blocked]) -> bool:
    """Whether a dot of 8-bit floats can do as wgmma does: sums of few bits, operands whose bytes run along k."""
    imprecise = op.properties.get("maxNumImpreciseAcc")
    sums_may_be_short = imprecise is not None and (imprecise.value.data > k or imprecise.value.data >= 32)
    return sums_may_be_short and run_along_k(op, accesses)


def run_along_k(op: Operation, accesses: Mapping[Operation, Blocked]) -> bool:
    """Whether the operands of a dot lie as wgmma reads bytes."""
    return runs_along(op.operands[0], 1, accesses) and runs_along(op.operands[1], 0, accesses)


def runs_along(value: SSAValue, dim: int, accesses: Mapping[Operation, Blocked]) -> bool:
    """Whether neighbours along `dim` of a tile are neighbours where it was loaded; what was computed can be turned."""
    maker = value.owner
    if isinstance(maker, Operation) and maker.name == "tt.trans":
        return runs_along(maker.operands[0], 1 - dim, accesses)
    return not isinstance(maker, Operation) or maker not in accesses or accesses[maker].order[0] == dim


def wgmma_layout(op: Operation, warps: int, ctas: int) -> NvidiaMma:
    """Warpgroups down the rows as far as there are rows, then across; one instruction spans a warpgroup's columns."""
    cga, m, n = ctas_over(op, ctas, 64, 16)
    down = min(warps, m // 16)
    across = warps // down
    instruction = (16, max(8, min(256, n // across)), 256 // bits(op.operands[0].type))
    return NvidiaMma((3, 0), (down, across), instruction, cga)


def box_layout(op: Operation, warps: int, lanes: int, ctas: int) -> Blocked:
    """For multiply-adds per element: up to 4 x 4 elements a thread, so that operands are used more than once."""
    sizes = shape(op.results[0].type)
    count = 1
    for size in sizes:
        count *= size
    share = max(1, count // (warps * lanes))
    per_thread = [1] * len(sizes)
    for d in (-1, -2):
        while per_thread[d] < 4 and per_thread[d] < sizes[d] and per_thread[-1] * per_thread[-2] < share:
            per_thread[d] *= 2
    return Blocked.default(sizes, warps, lanes, per_thread, ctas=ctas)


def dot_layouts(
    function: Operation, accesses: Mapping[Operation, Blocked], warps: int, lanes: int = 32, fp8: bool = False,
    wgmma: bool = False, ctas: int = 1,
) -> dict[Operation, Distributed]:  # fmt: skip
    """The layout of the result of every dot. accesses: the layouts of loads."""
    out: dict[Operation, Distributed] = {}
    for op in function.walk():
        if op.name == "tt.dot" and wgmma and fits_wgmma(op, warps, accesses):
            out[op] = wgmma_layout(op, warps, ctas)
        elif op.name == "tt.dot":
            fits = has_matrix_instruction(op, fp8) and is_large_enough(op)
            out[op] = mma_layout(op, warps, ctas) if fits else box_layout(op, warps, lanes, ctas)
    return out
