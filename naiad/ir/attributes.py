"""Enumerations of the IR, and Python values of the language as attributes.

An enumeration is a `KeywordAttr`, whose `.data` is the lower-case word of MLIR's text: `op.predicate.data == "slt"`.

    attribute(LoadOp, "cache", "cg")        # KeywordAttr("cg")
    attribute(MakeRangeOp, "end", 128)      # 128 : i32
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import AttrConstraint, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

__all__ = ["ENUMERATIONS", "KeywordAttr", "OneOf", "attribute", "enumeration", "keyword"]

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
                    "uno", "true")  # fmt: skip

ENUMERATIONS: dict[str, tuple[str, ...]] = {
    "cache": ("none", "ca", "cg", "wb", "cs", "wt", "cv"),
    "evict": ("evict_normal", "evict_first", "evict_last"),
    "padding": ("zero", "nan"),
    "atomic_rmw_op": ("and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch", "fmax", "fmin"),
    "kind": ("add", "min", "max", "inc", "dec", "and", "or", "xor", "umin", "umax"),
    "sem": ("relaxed", "acquire", "release", "acq_rel"),
    "scope": ("gpu", "cta", "sys"),
    "rounding": ("rtz", "rtne"),
    "propagateNan": ("none", "all"),
    "inputPrecision": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    "elem_type": ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16"),
    "integer_predicate": INTEGER_PREDICATES,
    "float_predicate": FLOAT_PREDICATES,
}
"""The words of each enumeration of an op's property. What Triton's text leaves out as the default is not stored."""

DEFAULTS = {"cache": "none", "evict": "evict_normal"}
SYNONYMS = {"xchg": "exch", "": "none"}
"""Other spellings that `attribute` takes."""


@irdl_attr_definition
class KeywordAttr(Data[str]):
    """A word of an enumeration."""

    name = "naiad.word"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@cache
def keyword(word: str) -> KeywordAttr:
    """The attribute of a word; one object a word."""
    return KeywordAttr(word)


@dataclass(frozen=True)
class OneOf(AttrConstraint):
    """A word of the enumeration `name`."""

    name: str

    def verify(self, attr: Attribute, constraint_context: Any) -> None:
        words = ENUMERATIONS[self.name]
        if not isinstance(attr, KeywordAttr) or attr.data not in words:
            raise VerifyException(f"expected one of {', '.join(words)}, got {attr}")

    def get_bases(self) -> set[type[Attribute]]:
        return {KeywordAttr}

    def mapping_type_vars(self, type_var_mapping: Any) -> "OneOf":
        return self


def enumeration(op: type[Operation], name: str) -> str | None:
    """The name of the enumeration that property `name` of an op draws on, or None."""
    if name == "predicate":
        return "float_predicate" if op.name == "arith.cmpf" else "integer_predicate"
    if name in ("a_elem_type", "b_elem_type"):
        return "elem_type"
    if name == "kind" and op.name != "tt.descriptor_reduce":
        return None
    return name if name in ENUMERATIONS else None


def attribute(op: type[Operation], name: str, value: Any) -> Attribute | None:
    """The attribute for property `name` of `op` from a plain Python value: int, bool, str, tuple of ints, or a word.

    None where the value is the default that the text leaves out: false flags, cache "none". Raises ValueError for a
    word that the enumeration does not have.
    """
    if value is None or isinstance(value, Attribute):
        return value
    if (words := enumeration(op, name)) is not None:
        return _word(op, name, words, str(value))
    return _plain(op, name, value)


def _word(op: type[Operation], name: str, words: str, value: str) -> Attribute | None:
    value = value if value in ENUMERATIONS[words] else SYNONYMS.get(value, value)
    if value not in ENUMERATIONS[words]:
        raise ValueError(f"{op.name}: {name} must be one of {', '.join(ENUMERATIONS[words])}, got {value!r}")
    return None if DEFAULTS.get(words) == value else keyword(value)


UNITS = frozenset({"allow_reorder", "efficient_layout", "descending", "signed"})
FLAGS = frozenset({"isVolatile"})
SYMBOLS = frozenset({"callee"})


def _plain(op: type[Operation], name: str, value: Any) -> Attribute | None:
    if name in UNITS:
        return UnitAttr() if value else None
    if isinstance(value, bool):
        return None if name in FLAGS and not value else boolean(value)
    if isinstance(value, int):
        return integer_attribute(value, name)
    if isinstance(value, str):
        return SymbolRefAttr(value) if name in SYMBOLS else StringAttr(value)
    if isinstance(value, Sequence):
        return _sequence(name, tuple(value))
    raise ValueError(f"{op.name}: {name} cannot be {value!r}")


def _sequence(name: str, values: tuple) -> Attribute | None:
    if name == "boundaryCheck" and not values:
        return None
    if all(isinstance(v, int) for v in values):
        return DenseArrayBase.from_list(i32, [int(v) for v in values])
    return ArrayAttr([StringAttr(v) for v in values])


@cache
def boolean(value: bool) -> IntegerAttr:
    return IntegerAttr(value, i1)


@cache
def integer_attribute(value: int, name: str) -> IntegerAttr | None:
    if name == "maxNumImpreciseAcc" and value == 0:
        return None
    return IntegerAttr(value, i64 if value.bit_length() > 31 else i32)
