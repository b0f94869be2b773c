"""Ops that go element by element or by whole tiles: atomics, gather, histogram, sort, print, assert,
map_elementwise."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, UnitAttr, i1, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from naiad.backends.cpu.tiles.branch import choose
from naiad.backends.cpu.tiles.facts import Facts
from naiad.backends.cpu.tiles.index import Index, uniform
from naiad.backends.cpu.tiles.lanes import Uniform, Vector, as_scalar, elementwise
from naiad.backends.cpu.tiles.memory import load_lanes, store_lanes
from naiad.backends.cpu.tiles.nest import plan_nest, walk
from naiad.backends.cpu.tiles.prefetch import next_run
from naiad.backends.cpu.tiles.store import stored
from naiad.backends.cpu.tiles.tiles import Buffer, Tiles
from naiad.ir import ttc
from naiad.ir.attributes import KeywordAttr
from naiad.ir.base import element, int_attr, segments, shape


def program_id(tiles: Tiles, op: Operation) -> None:
    value = tiles.w.pure(op.name, (), op.results[0].type, **op.properties)
    tiles.w.facts[value] = Facts(1, frozenset())
    tiles.scalars[op.results[0]] = value


def nothing(tiles: Tiles, op: Operation) -> None:
    """A barrier: the ops of one program run in order on a CPU."""


def unsplat(tiles: Tiles, op: Operation) -> None:
    zero = tiles.w.index(0)
    with tiles.w.nest():
        lanes = tiles.at(op.operands[0], uniform(*[zero] * len(shape(op.operands[0].type))), 1)
    tiles.scalars[op.results[0]] = as_scalar(tiles.w, lanes)


def each_element(tiles: Tiles, sizes: Sequence[int], body: Callable[[Index], None]) -> None:
    """Calls `body` inside loops over all elements, the last dimension innermost."""
    with tiles.w.nest(), ExitStack() as loops:
        body(tuple(Uniform(loops.enter_context(tiles.w.count(n)).index) if n > 1 else Uniform(tiles.w.index(0))
                   for n in sizes))  # fmt: skip


# ---- atomics


def atomic_rmw(tiles: Tiles, op: Operation) -> None:
    kind = StringAttr(op.properties["atomic_rmw_op"].data)
    mask = op.operands[2] if len(op.operands) > 2 else None

    def once(ptr: SSAValue, value: SSAValue) -> Operation:
        return ttc.AtomicRmwOp(ptr, value, results=[value.type], location=op.location, kind=kind, sem=_order(op))

    _atomic(tiles, op, list(op.operands[:2]), mask, once)


def atomic_cas(tiles: Tiles, op: Operation) -> None:
    def once(ptr: SSAValue, expected: SSAValue, value: SSAValue) -> Operation:
        return ttc.AtomicCasOp(ptr, expected, value, results=[value.type], location=op.location, sem=_order(op))

    _atomic(tiles, op, list(op.operands), None, once)


def _order(op: Operation) -> StringAttr:
    sem = op.properties["sem"]
    return StringAttr(sem.data if isinstance(sem, KeywordAttr | StringAttr) else "acq_rel")


def _atomic(
    tiles: Tiles, op: Operation, operands: list[SSAValue], mask: SSAValue | None, once: Callable[..., Operation]
) -> None:
    """One atomic per element, in order; the old values into memory where something reads them."""
    result, sizes = op.results[0], shape(op.operands[0].type)
    wanted = bool(list(result.uses))
    if not sizes:
        tiles.scalars[result] = _masked_scalar(tiles, operands, mask, once, result)
        return
    buffer = tiles.new_buffer(sizes, element(result.type), "old") if wanted else None

    def body(index: Index) -> None:
        w = tiles.w
        condition = None if mask is None else as_scalar(w, tiles.at(mask, index, 1))
        if buffer is not None and mask is not None:
            tiles.write(buffer, index, Uniform(w.constant(_zero(buffer.type), buffer.type)), 1)

        def update() -> None:
            old = w.effect(once(*(as_scalar(w, tiles.at(o, index, 1)) for o in operands))).results[0]
            if buffer is not None:
                tiles.write(buffer, index, Uniform(old), 1)

        update() if condition is None else choose(tiles, condition, update)

    each_element(tiles, sizes, body)
    if buffer is not None:
        tiles.buffers[result] = buffer


def _zero(type) -> int | float:
    from xdsl.dialects.builtin import AnyFloat

    return 0.0 if isinstance(type, AnyFloat) else 0


def _masked_scalar(
    tiles: Tiles, operands: list[SSAValue], mask: SSAValue | None, once: Callable[..., Operation], result: SSAValue
) -> SSAValue:
    w, values = tiles.w, [tiles.scalar(o) for o in operands]
    if mask is None:
        return w.effect(once(*values)).results[0]
    block, other = Block(), Block()
    old = once(*values)
    block.add_op(old)
    block.add_op(scf.YieldOp(old.results[0]))
    other.add_op(scf.YieldOp(w.constant(_zero(result.type), result.type)))
    made = scf.IfOp(tiles.scalar(mask), [result.type], Region(block), Region(other))
    return w.effect(made).results[0]


# ---- whole tiles


def gather(tiles: Tiles, op: Operation) -> None:
    """result[.., i, ..] = src[.., indices[.., i, ..], ..], i along `axis`."""
    axis = op.properties["axis"].value.data
    source = stored(tiles, op.operands[0])
    sizes = shape(op.operands[1].type)
    out = tiles.buffer_for(op.results[0])

    def body(index: Index, count: int) -> None:
        picked = tiles.at(op.operands[1], index, count)
        place = _as_index(tiles, picked, count)
        lanes = tiles.read(source, (*index[:axis], place, *index[axis + 1 :]), count)
        tiles.write(out, index, lanes, count)

    walk(tiles, plan_nest(tiles, sizes, op.operands[1]), body)
    tiles.buffers[op.results[0]] = out


def _as_index(tiles: Tiles, lanes, count: int):
    """Values of the program (i8..i64) as an index part."""
    from xdsl.dialects.builtin import i32

    w = tiles.w
    if isinstance(lanes, Uniform):
        return Uniform(w.widen(lanes.value))
    if lanes.type in (i32,):
        return lanes
    name = "arith.trunci" if lanes.type == i64 else "arith.extsi"
    return elementwise(w, name, [lanes], [i32], count, {})[0]


def histogram(tiles: Tiles, op: Operation) -> None:
    """Counts how often each number below the size of the result occurs."""
    w, result = tiles.w, op.results[0]
    out = tiles.buffer_for(result)
    zero, one = (w.constant(n, out.type) for n in (0, 1))
    walk(tiles, plan_nest(tiles, out.sizes), lambda index, count: tiles.write(out, index, Uniform(zero), count))
    mask = op.operands[1] if len(op.operands) > 1 else None

    def body(index: Index) -> None:
        number = w.widen(as_scalar(w, tiles.at(op.operands[0], index, 1)))
        inside = w.compare("ult", number, w.index(out.sizes[0]))
        if mask is not None:
            inside = w.pure("arith.andi", (inside, as_scalar(w, tiles.at(mask, index, 1))), i1)

        def count() -> None:
            place = Uniform(w.move(out.ptr, number))
            old = load_lanes(w, place, None, None, 1, once=True)
            store_lanes(w, place, Uniform(w.pure("arith.addi", (as_scalar(w, old), one), out.type)), None, 1)

        choose(tiles, inside, count)

    each_element(tiles, shape(op.operands[0].type), body)
    tiles.buffers[result] = out


def sort(tiles: Tiles, op: Operation) -> None:
    tiles.buffers[op.results[0]] = _sorted(tiles, op, op.properties["axis"].value.data)


def topk(tiles: Tiles, op: Operation) -> None:
    """The first k of each sorted row."""
    rank = len(shape(op.results[0].type))
    whole = _sorted(tiles, op, rank - 1)
    out = tiles.buffer_for(op.results[0])
    plan = plan_nest(tiles, out.sizes)
    walk(tiles, plan, lambda index, count: tiles.write(out, index, tiles.read(whole, index, count), count))
    tiles.buffers[op.results[0]] = out


def _sorted(tiles: Tiles, op: Operation, axis: int) -> Buffer:
    """The source in memory with its rows along `axis` sorted."""
    sizes = shape(op.operands[0].type)
    turned = _turned(sizes, axis)
    buffer = tiles.new_buffer(turned, element(op.operands[0].type), "sorted")
    ahead: list[SSAValue | None] = []

    def put(index: Index, count: int) -> None:
        ahead[:] = [next_run(tiles, op.operands[0], index, count)]
        tiles.write(buffer, _turned(index, axis), tiles.at(op.operands[0], index, count), count)

    walk(tiles, plan_nest(tiles, sizes, op.operands[0]), put)
    n = sizes[axis]
    flags = {name: UnitAttr() for name in ("descending", "signed") if name in op.properties}
    size = {"rows": int_attr(prod(sizes) // n, 64), "n": int_attr(n, 64)}
    tiles.w.effect(ttc.SortOp(buffer.ptr, *filter(None, ahead), location=op.location, **size, **flags))
    if axis == len(sizes) - 1:
        return buffer
    out = tiles.new_buffer(sizes, buffer.type)
    back = plan_nest(tiles, sizes)
    walk(tiles, back, lambda index, count: tiles.write(
        out, index, tiles.read(buffer, _turned(index, axis), count), count))  # fmt: skip
    return out


def _turned(parts: Sequence, axis: int) -> tuple:
    """The parts with that of `axis` last."""
    return (*parts[:axis], *parts[axis + 1 :], parts[axis])


def map_elementwise(tiles: Tiles, op: Operation) -> None:
    """The region on the scalars of each `pack` neighbouring elements."""
    from naiad.backends.cpu.tiles.block import lower_block

    pack = op.properties["pack"].value.data
    sizes = shape(op.operands[0].type)
    outs = [tiles.buffer_for(r) for r in op.results]
    block = op.regions[0].block
    groups = (*sizes[:-1], sizes[-1] // pack)

    def body(index: Index) -> None:
        w = tiles.w
        first = w.mul(as_scalar(w, index[-1]), w.index(pack))
        places = [(*index[:-1], Uniform(w.add(first, w.index(i)))) for i in range(pack)]
        values = [as_scalar(w, tiles.at(o, p, 1)) for o in op.operands for p in places]
        tiles.scalars.update(zip(block.args, values, strict=True))
        lower_block(tiles, block)
        results = [tiles.scalar(v) for v in block.last_op.operands]
        for r, out in enumerate(outs):
            for p, place in enumerate(places):
                tiles.write(out, place, Uniform(results[r * pack + p]), 1)

    each_element(tiles, groups, body)
    tiles.buffers.update(zip(op.results, outs, strict=True))


# ---- messages


def print_(tiles: Tiles, op: Operation) -> None:
    """A line per element of each operand; one line without operands."""
    signed = list(op.properties["isSigned"].get_values())
    if not op.operands:
        _print(tiles, op, (), None, 0, False)
    for number, value in enumerate(op.operands):

        def one(index: Index, value: SSAValue = value, number: int = number) -> None:
            _print(tiles, op, index, value, number, signed[number])

        each_element(tiles, shape(value.type), one)


def _print(tiles: Tiles, op: Operation, index: Index, value: SSAValue | None, number: int, signed: bool) -> None:
    w = tiles.w
    pids = [w.pure("tt.get_program_id", (), i32, axis=int_attr(d)) for d in range(3)]
    places = [as_scalar(w, i) for i in index]
    operand = [] if value is None else [as_scalar(w, tiles.at(value, index, 1))]
    flags = {"hex": UnitAttr()} if op.properties["hex"].value.data else {}
    flags |= {"signed": UnitAttr()} if signed else {}
    sizes = DenseArrayBase.from_list(i64, list(shape(value.type)) if value is not None else [])
    w.effect(ttc.PrintOp(
        *pids, *places, *operand, location=op.location, prefix=op.properties["prefix"], shape=sizes,
        operand_number=int_attr(number, 64), operand_count=int_attr(len(op.operands), 64),
        operandSegmentSizes=segments(3, len(places), len(operand)), **flags,
    ))  # fmt: skip


def assert_(tiles: Tiles, op: Operation) -> None:
    """Every element of the condition must hold."""
    condition, message = op.operands[0], op.properties["message"]
    tiles.asserts.append(message.data)

    def body(index: Index, count: int) -> None:
        lanes = tiles.at(condition, index, count)
        if isinstance(lanes, Vector):
            holds = tiles.w.pure("ttc.reduce", (lanes.value,), i1, kind=StringAttr("andi"))
        else:
            holds = as_scalar(tiles.w, lanes)
        tiles.w.effect(ttc.AssertOp(holds, location=op.location, message=message))

    walk(tiles, plan_nest(tiles, shape(condition.type), condition), body)


def assume(tiles: Tiles, op: Operation) -> None:
    """`x >= 0` and `x > 0` make the sign of x known; all else says nothing that this backend uses."""
    compare = op.operands[0].owner
    if not isinstance(compare, Operation) or compare.name != "arith.cmpi":
        return
    value, least = (tiles.scalar(o) for o in compare.operands)
    predicate = compare.properties["predicate"].data
    if predicate in ("sge", "sgt") and tiles.w.constants.get(least, -1) >= 0:
        tiles.w.facts[value] = Facts(tiles.w.known(value).divisor, frozenset())


ROOTS = {
    "tt.get_program_id": program_id,
    "tt.get_num_programs": program_id,
    "tt.unsplat": unsplat,
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.gather": gather,
    "tt.histogram": histogram,
    "ttn.sort": sort,
    "ttn.topk": topk,
    "tt.map_elementwise": map_elementwise,
    "tt.print": print_,
    "tt.assert": assert_,
    "llvm.intr.assume": assume,
    "gpu.barrier": nothing,
}
