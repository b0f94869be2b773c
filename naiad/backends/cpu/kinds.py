"""How ttcir types stand in LLVM text on a CPU.

f16, bf16 and the f8 kinds are integers of their width: each CPU has its own gaps in half precision, so that every
operation on them is written out in f32 and rounded. i1 is i1 in registers and a byte in memory, `index` is i64.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from naiad.errors import explain
from naiad.ir.types import PointerType
from naiad.lowering.emitter import vector_type

LLVM_FLOATS = {"f64": "double", "f32": "float"}


@dataclass(frozen=True)
class Kind:
    """An element and how many lanes of it: 0 lanes is a scalar. element: i1..i64, f64, f32, f16, bf16, f8..., ptr."""

    element: str
    lanes: int
    bits: int

    def of(self, element: str) -> "Kind":
        """As many lanes of another element."""
        return kind(element, self.lanes)

    def wide(self, lanes: int) -> "Kind":
        """The same element in another number of lanes."""
        return kind(self.element, lanes)

    @property
    def scalar(self) -> str:
        """The LLVM type of one lane."""
        return LLVM[self.element]

    @property
    def llvm(self) -> str:
        """The LLVM type of all of it."""
        return llvm_text(self.element, self.lanes)

    @property
    def memory(self) -> "Kind":
        """What is loaded and stored: i1 takes a byte."""
        return replace(self, element="i8", bits=8) if self.element == "i1" else self

    @property
    def bytes(self) -> int:
        """Of one element, in memory."""
        return max(self.bits, 8) // 8

    @property
    def is_float(self) -> bool:
        return self.element[0] in "fb"

    @property
    def is_small_float(self) -> bool:
        """A float that is kept as an integer."""
        return self.is_float and self.element not in LLVM_FLOATS

    @property
    def integer(self) -> "Kind":
        """Integers of the same width and lanes."""
        return kind(f"i{self.bits}", self.lanes)


LLVM = {"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "i128": "i128", "f16": "i16", "bf16": "i16",
        "f32": "float", "f64": "double", "ptr": "ptr", "f8E4M3FN": "i8", "f8E5M2": "i8", "f8E4M3FNUZ": "i8",
        "f8E5M2FNUZ": "i8"}  # fmt: skip
BITS = {"ptr": 64, "double": 64, "float": 32}


@cache
def kind(element: str, lanes: int = 0) -> Kind:
    text = LLVM[element]
    return Kind(element, lanes, BITS.get(text) or int(text[1:]))


@cache
def llvm_text(element: str, lanes: int) -> str:
    return vector_type(LLVM[element], lanes)


def word(op: Operation, name: str) -> str:
    """A property that is a string or a word of an enumeration."""
    return cast(Any, op.properties[name]).data


def count(op: Operation, name: str) -> int:
    """A property that is an integer."""
    return cast(Any, op.properties[name]).value.data


def pointee(value: SSAValue) -> Attribute:
    """What a scalar pointer points at."""
    return cast(PointerType, value.type).pointee


known: dict[int, tuple[Attribute, Kind]] = {}


def kind_of(value: SSAValue) -> Kind:
    """The kind of an SSA value."""
    return kind_of_type(value.type)


def kind_of_type(type: Attribute) -> Kind:
    """The kind of an IR type. Hashing an IR type takes longer than the rest of a rule, hence the table by identity."""
    entry = known.get(id(type))
    if entry is None or entry[0] is not type:
        entry = known[id(type)] = (type, made(type))
    return entry[1]


def made(type: Attribute) -> Kind:
    if isinstance(type, VectorType):
        return kind_of_type(type.element_type).wide(type.get_shape()[0])
    if isinstance(type, PointerType):
        return kind("ptr")
    if isinstance(type, IndexType):
        return kind("i64")
    if isinstance(type, IntegerType) and f"i{type.width.data}" in LLVM:
        return kind(f"i{type.width.data}")
    if isinstance(type, AnyFloat) and type.name in LLVM:
        return kind(type.name)
    raise explain(
        NotImplementedError(f"the CPU backend has no values of type {type}"),
        expected=f"a scalar or a vector of {', '.join(name for name in LLVM if name != 'i128')}",
        found=str(type),
        advice="take the next wider type",
    )
