"""Code from outside of the language that says it is not pure: it runs once, where it stands, and nothing repeats it."""

from xdsl.ir import Operation

from naiad.backends.cpu.tiles.index import Index
from naiad.backends.cpu.tiles.lanes import Uniform, Vector, as_vector, lanes_type
from naiad.backends.cpu.tiles.nest import plan_nest, walk
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.ir.base import element, shape
from naiad.ir.registry import make_op
from naiad.ir.tt.debug import Foreign


def is_impure(op: Operation) -> bool:
    return isinstance(op, Foreign) and not op.is_pure


def run_once(tiles: Tiles, op: Operation) -> None:
    """Results that are tiles are kept in memory."""
    sizes, w = shape(op.results[0].type), tiles.w
    if not sizes:
        operands = [tiles.scalar(o) for o in op.operands]
        made = w.effect(make_op(op.name, *operands, results=[r.type for r in op.results], location=op.location,
                                **op.properties))  # fmt: skip
        tiles.scalars.update(zip(op.results, made.results, strict=True))
        return
    buffers = [tiles.buffer_for(r) for r in op.results]

    def body(index: Index, count: int) -> None:
        values = [as_vector(w, tiles.at(o, index, count), count) for o in op.operands]
        types = [lanes_type(element(r.type), count) for r in op.results]
        made = w.effect(make_op(op.name, *values, results=types, location=op.location, **op.properties))
        for buffer, value in zip(buffers, made.results, strict=True):
            tiles.write(buffer, index, Vector(value) if count > 1 else Uniform(value), count)

    walk(tiles, plan_nest(tiles, sizes, *op.operands), body)
    tiles.buffers.update(zip(op.results, buffers, strict=True))
