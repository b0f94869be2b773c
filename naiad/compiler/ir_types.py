"""Types of the language as types of the IR. Signedness ends here: the IR's integers are signless."""

from typing import Any

from xdsl.dialects import builtin
from xdsl.ir import Attribute

from naiad.ir import base
from naiad.ir.types import TensorDescType, pointer

__all__ = ["ir_type"]

_FLOATS: dict[str, Attribute] = {
    "fp16": builtin.f16,
    "bf16": builtin.bf16,
    "fp32": builtin.f32,
    "fp64": builtin.f64,
    "fp8e4nv": builtin.Float8E4M3FNType(),
    "fp8e5": builtin.Float8E5M2Type(),
    "fp8e4b8": builtin.Float8E4M3FNUZType(),
    "fp8e5b16": builtin.Float8E5M2FNUZType(),
    "fp8e4b15": base.integer(8),  # no type of MLIR: Triton carries its bits
}
_cache: dict[Any, Attribute] = {}


def ir_type(type: Any) -> Attribute:
    """The IR type of one handle of the language type `type`; one object for equal types."""
    found = _cache.get(type)
    if found is None:
        found = _cache[type] = _make(type)
    return found


def _make(type: Any) -> Attribute:
    if type.__class__.__name__ == "tensor_descriptor_base_type" or hasattr(type, "block_type"):
        return TensorDescType(ir_type(type.block_type))
    if type.is_block():
        return base.tensor(ir_type(type.element_ty), tuple(type.shape))
    if type.is_ptr():
        return pointer(ir_type(type.element_ty), type.address_space)
    if type.is_int():
        return base.integer(type.int_bitwidth)
    if type.name in _FLOATS:
        return _FLOATS[type.name]
    raise TypeError(f"a value of type {type} cannot be in the IR")
