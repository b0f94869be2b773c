"""Loads and stores of lanes: one access where the addresses are a sequence, else one per lane."""

from typing import Any

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, VectorType
from xdsl.ir import SSAValue

from naiad.backends.cpu.tiles.lanes import Affine, Lanes, Uniform, Vector, as_scalar, as_vector, lanes_type
from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir import ttc
from naiad.ir.base import bits, element, int_attr, segments
from naiad.ir.types import pointee_of

WIDEST_STEP = 8
"""Up to this step a strided access is one op for the target to shuffle; beyond, each lane is its own."""


def _step(w: Writer, ptrs: Affine) -> int | None:
    step = w.constants.get(ptrs.step)
    return int(step) if step is not None and 1 <= step <= WIDEST_STEP else None


def _strided(step: int) -> dict[str, IntegerAttr]:
    return {} if step == 1 else {"step": int_attr(step, 64)}


def load_lanes(
    w: Writer, ptrs: Lanes, mask: Lanes | None, other: Lanes | None, count: int, once: bool = False
) -> Lanes:
    """What lies at the pointers; where the mask is false `other`, or 0. `once`: exactly here, not shared (volatile)."""
    place = _volatile if once else Writer.read
    if isinstance(ptrs, Uniform) and not isinstance(mask, Vector) and not isinstance(other, Vector):
        operands: list[Any] = [ptrs.value, mask and as_scalar(w, mask), other and as_scalar(w, other)]
        return Uniform(place(w, ttc.LoadOp, operands, element(pointee_of(ptrs.value.type)), **_sizes(operands)))
    vectors = [mask and as_vector(w, mask, count), other and as_vector(w, other, count)]
    if isinstance(ptrs, Affine) and (step := _step(w, ptrs)) is not None:
        operands = [ptrs.base, *vectors]
        type = lanes_type(pointee_of(ptrs.base.type), count)
        return _lanes(place(w, ttc.LoadOp, operands, type, **_sizes(operands), **_strided(step)))
    operands = [as_vector(w, ptrs, count), *vectors]
    op = ttc.GatherOp if count > 1 else ttc.LoadOp
    return _lanes(place(w, op, operands, pointee_of(operands[0].type), **_sizes(operands)))


def _lanes(value: SSAValue) -> Lanes:
    return Vector(value) if isinstance(value.type, VectorType) else Uniform(value)


def _sizes(operands: list[SSAValue | None]) -> dict:
    return {"operandSegmentSizes": segments(*(int(o is not None) for o in operands))}


def _volatile(w: Writer, op_class, operands, type, **properties) -> SSAValue:
    given = [o for o in operands if o is not None]
    return w.effect(op_class(*given, results=[type], location=w.location, **properties)).results[0]


def store_lanes(w: Writer, ptrs: Lanes, value: Lanes, mask: Lanes | None, count: int, stream: bool = False) -> None:
    """Writes the lanes to the pointers; nothing where the mask is false. `stream`: not read again soon, and the first
    pointer is aligned to the size of all lanes."""
    if isinstance(ptrs, Uniform) or count == 1:
        _store_one(w, as_scalar(w, ptrs), value, mask, count)
        return
    lanes, when = as_vector(w, value, count), mask and as_vector(w, mask, count)
    if isinstance(ptrs, Affine) and (step := _step(w, ptrs)) is not None:
        operands = [ptrs.base, lanes, when]
        given = [o for o in operands if o is not None]
        hint = {"stream": UnitAttr(), "align": int_attr(count * bits(lanes.type) // 8, 64)} if stream else {}
        w.effect(ttc.StoreOp(*given, location=w.location, **_sizes(operands), **_strided(step), **hint))
        return
    operands = [as_vector(w, ptrs, count), lanes, when]
    given = [o for o in operands if o is not None]
    w.effect(ttc.ScatterOp(*given, location=w.location, **_sizes(operands)))


def _store_one(w: Writer, ptr: SSAValue, value: Lanes, mask: Lanes | None, count: int) -> None:
    """All lanes to one address: the last lane that is not masked off stays."""
    if (count > 1 and isinstance(mask, Vector)) or (isinstance(value, Vector) and count > 1):
        pointers = w.splat(ptr, count)
        operands = [pointers, as_vector(w, value, count), mask and as_vector(w, mask, count)]
        given = [o for o in operands if o is not None]
        w.effect(ttc.ScatterOp(*given, location=w.location, **_sizes(operands)))
        return
    operands = [ptr, as_scalar(w, value), mask and as_scalar(w, mask)]
    given = [o for o in operands if o is not None]
    w.effect(ttc.StoreOp(*given, location=w.location, **_sizes(operands)))
