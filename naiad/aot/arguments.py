"""The arguments of a launcher in C: their types there, and the variables that the kernel's slots are filled of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from naiad.aot.signature import Signature

__all__ = ["Argument", "Slot", "arguments", "c_name", "c_type", "conversions", "prototype"]

Slot = tuple[tuple[Any, ...], str]
"""The path of a value among the arguments of a launch, and its type in a signature."""

SCALARS = {
    "i1": "int8_t", "u1": "uint8_t", **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "fp16": "float", "bf16": "float", "fp32": "float", "fp64": "double",
}  # fmt: skip
POINTEES = SCALARS | {"fp16": "uint16_t", "bf16": "uint16_t", "void": "void"}
KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "bool",
    "true", "false", "stream", "threads", "algo_id",
))  # fmt: skip
"""Names that a parameter cannot have in C, or that the launchers' own parameters have."""

HALF = """
static inline uint16_t naiad_half(float value)
{
    uint32_t bits, magnitude;
    memcpy(&bits, &value, 4);
    magnitude = bits & 0x7fffffff;
    uint16_t sign = (bits >> 16) & 0x8000;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00;
    if (magnitude >= 0x477ff000) /* 65520, which rounds to infinity */
        return sign | 0x7c00;
    if (magnitude < 0x38800000) { /* the sum with 1/2 rounds where a subnormal number ends */
        float sum;
        memcpy(&sum, &magnitude, 4);
        sum += 0.5f;
        memcpy(&magnitude, &sum, 4);
        return sign | (uint16_t)(magnitude - 0x3f000000);
    }
    magnitude += 0xfff + ((magnitude >> 13) & 1);
    return sign | (uint16_t)((magnitude - 0x38000000) >> 13);
}
"""
BFLOAT16 = """
static inline uint16_t naiad_bfloat16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16) | 0x40;
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
"""


@dataclass(frozen=True)
class Argument:
    """One argument: its name in C, its type in the signature, what it was specialised for.

    One that is always 1 is compiled in: only the dispatcher takes it.
    """

    name: str
    kind: str
    hint: int | None = None

    @property
    def is_passed(self) -> bool:
        return self.hint != 1

    @property
    def converted(self) -> str:
        """The expression of what the kernel takes, where that is not what C passes; else empty."""
        calls = {"fp16": "naiad_half({})", "bf16": "naiad_bfloat16({})", "i1": "{} != 0", "u1": "{} != 0"}
        return calls[self.kind].format(self.name) if self.kind in calls else ""

    @property
    def variable(self) -> str:
        """The variable in the launcher that holds what the kernel takes."""
        return f"naiad_of_{self.name}" if self.converted else self.name


def arguments(signature: Signature, slots: Iterable[Slot]) -> list[Argument]:
    """The arguments in order; a descriptor becomes several: its base, its sizes, its strides."""
    of_parameter: dict[int, list[Slot]] = {}
    for path, kind in slots:
        of_parameter.setdefault(path[0], []).append((path, kind))
    found = []
    for i, entry in enumerate(signature.entries):
        name = c_name(entry.name)
        if entry.hint == 1:
            found.append(Argument(name, entry.kind, 1))
        for path, kind in of_parameter.get(i, ()):
            part = "_".join(map(str, path[1:]))
            if not part:
                found.append(Argument(name, kind, entry.hint))
            else:
                found.append(Argument(name, "*void") if part == "base" else Argument(f"{name}_{part}", kind))
    return found


def c_name(name: str) -> str:
    """A parameter's name in C."""
    return f"{name}_" if name in KEYWORDS else name


def c_type(kind: str, pointer: str = "") -> str:
    """The type in C, a blank or a star at its end. pointer: what all pointers are (CUdeviceptr)."""
    if not kind.startswith("*"):
        return f"{SCALARS[kind]} "
    if pointer:
        return f"{pointer} "
    element = kind[1:].removeprefix("k")
    const = "const " if kind.startswith("*k") else ""
    if element.startswith("*"):
        return f"{const}{c_type(element)}*"
    return f"{const}{POINTEES.get(element, 'uint8_t')} *"


def prototype(first: str, items: Sequence[Argument], pointer: str = "") -> str:
    """The parameters of a function in C, `first` before the arguments."""
    return ", ".join([first, *(f"{c_type(item.kind, pointer)}{item.name}" for item in items)])


def conversions(items: Sequence[Argument]) -> tuple[str, str]:
    """(functions that round floats, where a kernel takes such; lines that declare the variables that they give)."""
    kinds = {item.kind for item in items if item.is_passed}
    functions = (HALF if "fp16" in kinds else "") + (BFLOAT16 if "bf16" in kinds else "")
    return functions, "".join(_conversion_lines(items))


def _conversion_lines(items: Sequence[Argument]) -> Iterator[str]:
    for item in items:
        if item.is_passed and item.converted:
            kind = "uint16_t" if item.kind in ("fp16", "bf16") else "uint8_t"
            yield f"    const {kind} {item.variable} = {item.converted};\n"
