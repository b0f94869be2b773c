"""How elements order: as signed integers of their width, to and from which vectors are converted."""

from dataclasses import dataclass

from naiad.backends.cpu.kinds import Kind
from naiad.backends.cpu.lower_casts import FORMATS
from naiad.backends.cpu.writer import CpuEmitter

INFINITIES = {"f32": 0x7F800000, "f64": 0x7FF0000000000000}


@dataclass(frozen=True)
class Order:
    """How elements compare: floats by value, NaN above all; integers with or without a sign."""

    element: str
    descending: bool
    signed: bool

    @property
    def is_float(self) -> bool:
        return self.element[0] in "fb"

    @property
    def name(self) -> str:
        return f"{self.element}_{'down' if self.descending else 'up'}{'_signed' if self.signed else ''}"


def largest(kind: Kind) -> int:
    return (1 << (kind.bits - 1)) - 1


def to_key(f: CpuEmitter, kind: Kind, order: Order, value: str) -> str:
    """Signed integers that order as the elements do."""
    top = f.number_of(largest(kind), kind)
    if order.is_float:
        size = f.binary("and", kind, value, top)
        nan = f.compare("ugt", kind, size, f.number_of(infinity_of(order.element), kind))
        value = f.select(kind, nan, top, mirrored(f, kind, value))
    elif not order.signed:
        value = f.binary("xor", kind, value, f.number_of(largest(kind) + 1, kind))
    return f.binary("xor", kind, value, f.number_of(-1, kind)) if order.descending else value


def from_key(f: CpuEmitter, kind: Kind, order: Order, value: str) -> str:
    if order.descending:
        value = f.binary("xor", kind, value, f.number_of(-1, kind))
    if order.is_float:
        return mirrored(f, kind, value)
    return value if order.signed else f.binary("xor", kind, value, f.number_of(largest(kind) + 1, kind))


def mirrored(f: CpuEmitter, kind: Kind, value: str) -> str:
    """Negative floats have their bits turned, so that they ascend; the same brings them back."""
    sign = f.binary("ashr", kind, value, f.number_of(kind.bits - 1, kind))
    return f.binary("xor", kind, value, f.binary("and", kind, sign, f.number_of(largest(kind), kind)))


def infinity_of(element: str) -> int:
    """The largest code without sign that is no NaN."""
    if element in INFINITIES:
        return INFINITIES[element]
    format = FORMATS[element]
    return format.infinity if format.infinity >= 0 else format.largest
