"""What every op of naiad shares: a constructor that takes a location, type rules, and cached types and attributes.

The private names of xDSL that naiad touches (`_type`, `_operands`) are touched in this file only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseArrayBase,
    FixedBitwidthType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import AttrConstraint, IRDLOperation
from xdsl.utils.exceptions import VerifyException

__all__ = ["Derived", "NaiadOp", "OptionalOperands", "bits", "bool_like", "element", "inside", "int_attr",
           "integer", "like", "retype", "segments", "shape", "tensor", "vector"]  # fmt: skip


@cache
def segments(*sizes: int) -> DenseArrayBase:
    """How many values each operand group of an op with optional operands takes."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def int_attr(value: int, width: int = 32) -> IntegerAttr:
    """An integer attribute of `width` bits."""
    return IntegerAttr(value, integer(width))


@cache
def integer(width: int) -> IntegerType:
    """The signless integer type of `width` bits; one object a width."""
    return IntegerType(width)


@cache
def tensor(element_type: Attribute, sizes: tuple[int, ...], encoding: Attribute | None = None) -> Attribute:
    """A ranked tensor type; one object for equal arguments, since xDSL takes 7 us to make one."""
    return TensorType(element_type, sizes) if encoding is None else TensorType(element_type, sizes, encoding)


@cache
def vector(element_type: Attribute, lanes: int) -> Attribute:
    """A vector type of `lanes` lanes; one object for equal arguments."""
    return VectorType(element_type, [lanes])


def like(type: Attribute, element_type: Attribute) -> Attribute:
    """`type` with its element replaced: keeps shape and encoding, a scalar stays a scalar."""
    if isinstance(type, TensorType):
        return TensorType(element_type, type.get_shape(), type.encoding)
    if isinstance(type, VectorType):
        return vector(element_type, type.get_shape()[0])
    return element_type


def element(type: Attribute) -> Attribute:
    """The element type of a tensor or a vector; a scalar type is its own element."""
    return type.element_type if isinstance(type, TensorType | VectorType) else type


def shape(type: Attribute) -> tuple[int, ...]:
    """The sizes of a tensor or a vector; () of a scalar."""
    return tuple(type.get_shape()) if isinstance(type, TensorType | VectorType) else ()


def bits(type: Attribute) -> int:
    """The width of a scalar type, or of a tensor's element, in bits; pointers and `index` have 64."""
    scalar = element(type)
    return scalar.bitwidth if isinstance(scalar, FixedBitwidthType) else 64


def inside(op: Operation) -> list[Operation]:
    """All ops in the regions of `op`, each before those in its own; xDSL's `walk` takes three times as long."""
    found: list[Operation] = []
    _gather(op, found)
    return found


def _gather(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _gather(inner, found)
                inner = inner.next_op


def retype(value: SSAValue, type: Attribute) -> None:
    """Changes the type of a value in place (xDSL has no public setter)."""
    value._type = type


@cache
def has_defaults(op: type[IRDLOperation]) -> bool:
    """Whether the declaration gives a property or an attribute a value that an op without it has."""
    declared = op.get_irdl_definition()
    parts = (*declared.properties.values(), *declared.attributes.values())
    return any(part.default_value is not None for part in parts)


class NaiadOp(IRDLOperation):
    """Operands in order, then result types, regions, properties by name and a location.

    A tenth of the cost of xDSL's own constructor; nothing is checked here, the verifier does that once a stage.
    """

    def __init__(
        self,
        *operands: SSAValue,
        results: Sequence[Attribute] = (),
        location: LocationAttr | None = None,
        regions: Sequence[Region] = (),
        attributes: dict[str, Attribute] | None = None,
        **properties: Any,
    ):
        self._operands = SSAValues(operands)
        self._operand_uses = tuple([Use(self, n) for n in range(len(operands))])
        for value, use in zip(operands, self._operand_uses, strict=True):
            value.add_use(use)
        self.results = SSAValues([OpResult(type, self, n) for n, type in enumerate(results)])
        self.properties = properties
        self.attributes = dict(attributes) if attributes else {}
        self.location = UNKNOWN_LOC if location is None else location
        for region in regions:
            self.add_region(region)
        if has_defaults(type(self)):
            self.__post_init__()


class OptionalOperands(NaiadOp):
    """An op of single operands of which some may be left out (None, or fewer of them). `SLOTS`: how many at most."""

    SLOTS: ClassVar[int] = 0

    def __init__(self, *operands: SSAValue | None, **rest: Any):
        given = [v for v in operands if v is not None]
        if "operandSegmentSizes" not in rest:
            present = [int(v is not None) for v in operands]
            rest["operandSegmentSizes"] = segments(*present, *[0] * (self.SLOTS - len(present)))
        super().__init__(*given, **rest)


@dataclass(frozen=True)
class Derived(AttrConstraint):
    """The type `rule(T)` of the constraint variable `var`, checked by the verifier and inferred by the parser."""

    var: str
    rule: Callable[[Attribute], Attribute]

    def verify(self, attr: Attribute, constraint_context: Any) -> None:
        want = self.rule(constraint_context.get_variable(self.var))
        if attr != want:
            raise VerifyException(f"expected type {want}, got {attr}")

    def can_infer(self, var_constraint_names: Any) -> bool:
        return self.var in var_constraint_names

    def infer(self, context: Any) -> Attribute:
        return self.rule(context.get_variable(self.var))

    def mapping_type_vars(self, type_var_mapping: Any) -> "Derived":
        return self


def bool_like(type: Attribute) -> Attribute:
    """i1 in the shape of `type`: the type of its mask."""
    return like(type, i1)
