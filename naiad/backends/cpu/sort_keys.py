"""How elements order, and as what they are compared: integers and f32 and f64 as they are, other floats as signed
integers of their width, to and from which vectors are converted."""

from dataclasses import dataclass

from naiad.backends.cpu.kinds import LLVM_FLOATS, Kind, kind
from naiad.backends.cpu.lower_casts import FORMATS
from naiad.backends.cpu.writer import CpuEmitter


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
    def has_keys(self) -> bool:
        """Whether elements are compared as something else than they are."""
        return self.is_float and self.element not in LLVM_FLOATS

    @property
    def name(self) -> str:
        return f"{self.element}_{'down' if self.descending else 'up'}{'_signed' if self.signed else ''}"


def key_kind(order: Order) -> Kind:
    """What is compared."""
    element = kind(order.element).memory
    return element.integer if order.has_keys else element


def pair(f: CpuEmitter, kind: Kind, order: Order, a: str, b: str) -> tuple[str, str]:
    """Two vectors of keys, lane by lane in order: what comes first, what comes second."""
    if kind.is_float:
        # minps and maxps give their second operand where the two are equal: in this order -0 and +0 both stay
        low = f.select(kind, f.compare("olt", kind, a, b), a, b)
        high = f.select(kind, f.compare("ogt", kind, b, a), b, a)
    else:
        sign = "s" if order.signed or order.has_keys else "u"
        low, high = [f.intrinsic(f"{sign}{which}", kind.llvm, a, b) for which in ("min", "max")]
    return (high, low) if order.descending else (low, high)


def largest(kind: Kind) -> int:
    return (1 << (kind.bits - 1)) - 1


def to_key(f: CpuEmitter, kind: Kind, order: Order, value: str) -> str:
    """Integers that order as the small floats do."""
    top = f.number_of(largest(kind), kind)
    size = f.binary("and", kind, value, top)
    nan = f.compare("ugt", kind, size, f.number_of(infinity_of(order.element), kind))
    return f.select(kind, nan, top, from_key(f, kind, value))


def from_key(f: CpuEmitter, kind: Kind, value: str) -> str:
    """Negative floats have their bits turned, so that they ascend; the same brings them back."""
    sign = f.binary("ashr", kind, value, f.number_of(kind.bits - 1, kind))
    return f.binary("xor", kind, value, f.binary("and", kind, sign, f.number_of(largest(kind), kind)))


def infinity_of(element: str) -> int:
    """The largest code without sign that is no NaN."""
    format = FORMATS[element]
    return format.infinity if format.infinity >= 0 else format.largest
