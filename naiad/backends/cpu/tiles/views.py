"""Tiles that are another tile seen otherwise, or made of nothing: splat, arange, broadcast, transpose, reshape,
join, load."""

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Operation

from naiad.backends.cpu.tiles.index import Index, add, divide, linear, row_major, split
from naiad.backends.cpu.tiles.lanes import Affine, Lanes, Uniform, Vector, as_vector, elementwise
from naiad.backends.cpu.tiles.memory import load_lanes
from naiad.backends.cpu.tiles.prefetch import prefetch_next
from naiad.backends.cpu.tiles.tiles import Rule, Tiles
from naiad.ir.attributes import keyword
from naiad.ir.base import element, shape


def splat(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    return Uniform(tiles.scalar(op.operands[0]))


def constant(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    number = op.properties["value"].value.data
    return Uniform(tiles.w.constant(number, element(op.results[0].type)))


def make_range(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    start = tiles.w.index(op.properties["start"].value.data)
    here = add(tiles.w, index[0], Uniform(start), count)
    return Uniform(tiles.w.narrow(here.value, i32)) if isinstance(here, Uniform) else here


def expand_dims(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    axis = op.properties["axis"].value.data
    return tiles.at(op.operands[0], (*index[:axis], *index[axis + 1 :]), count)


def broadcast(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    zero = Uniform(tiles.w.index(0))
    sizes = shape(op.operands[0].type)
    return tiles.at(op.operands[0], tuple(zero if n == 1 else x for n, x in zip(sizes, index, strict=True)), count)


def trans(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    """Dimension d of the result is dimension order[d] of the source."""
    order = list(op.properties["order"].get_values())
    return tiles.at(op.operands[0], tuple(index[order.index(d)] for d in range(len(order))), count)


def reshape(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    position = linear(tiles.w, index, row_major(shape(op.results[0].type)), count)
    return tiles.at(op.operands[0], split(tiles.w, position, shape(op.operands[0].type), count), count)


def flip(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    axis = op.properties["axis"].value.data
    last = Uniform(tiles.w.index(shape(op.results[0].type)[axis] - 1))
    return tiles.at(op.operands[0], (*index[:axis], _minus(tiles, last, index[axis], count), *index[axis + 1 :]), count)


def _minus(tiles: Tiles, a: Uniform, b: Lanes, count: int) -> Lanes:
    w = tiles.w
    match b:
        case Uniform(value):
            return Uniform(w.sub(a.value, value))
        case Affine(base, step, type):
            return Affine(w.sub(a.value, base), w.sub(w.index(0), step), type)
        case Vector(value):
            return Vector(w.pure("arith.subi", (w.splat(w.narrow(a.value, i32), count), value), value.type))


def join(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    """The last dimension, of size 2, says which operand."""
    return _either(tiles, index[-1], [(o, index[:-1]) for o in op.operands], element(op.results[0].type), count)


def split_last(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    """Result 0 holds what has 0 as its last index, result 1 the rest."""
    return tiles.at(op.operands[0], (*index, Uniform(tiles.w.index(result))), count)


def cat(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    """The two operands end to end along dimension 0."""
    which, place = divide(tiles.w, index[0], shape(op.operands[0].type)[0], count)
    return _either(tiles, which, [(o, (place, *index[1:])) for o in op.operands], element(op.results[0].type), count)


def _either(tiles: Tiles, which: Lanes, choices: list, type: Attribute, count: int) -> Lanes:
    """The tile and index of `choices` that `which` (0 or 1) names."""
    w = tiles.w
    if isinstance(which, Uniform) and (known := w.constants.get(which.value)) is not None:
        value, index = choices[int(known)]
        return tiles.at(value, index, count)
    first, second = (tiles.at(value, index, count) for value, index in choices)
    zero = Uniform(w.index(0) if isinstance(which, Uniform) else w.constant(0, i32))
    number = which if isinstance(which, Uniform) else Vector(as_vector(w, which, count))
    [is_first] = elementwise(w, "arith.cmpi", [number, zero], [i1], count, {"predicate": keyword("eq")})
    return elementwise(w, "arith.select", [is_first, first, second], [type], count, {})[0]


def load(tiles: Tiles, op: Operation, result: int, index: Index, count: int) -> Lanes:
    ptrs = tiles.at(op.operands[0], index, count)
    prefetch_next(tiles, op, ptrs, count)
    guard = op.mask
    if guard is None or guard in tiles.full:
        return load_lanes(tiles.w, ptrs, None, None, count)
    mask = tiles.at(guard, index, count)
    if isinstance(mask, Uniform) and tiles.w.constants.get(mask.value):
        return load_lanes(tiles.w, ptrs, None, None, count)
    other = None if op.other is None else tiles.at(op.other, index, count)
    return load_lanes(tiles.w, ptrs, mask, other, count)


RULES: dict[str, Rule] = {
    "tt.splat": splat,
    "arith.constant": constant,
    "tt.make_range": make_range,
    "tt.expand_dims": expand_dims,
    "tt.broadcast": broadcast,
    "tt.trans": trans,
    "tt.reshape": reshape,
    "tt.join": join,
    "tt.split": split_last,
    "tt.cat": cat,
    "tt.load": load,
    "ttn.flip": flip,
}
