"""link(): from the headers of compiled kernels to one function in C that chooses among them.

Specialisations that differ in hints only are variants of one algorithm: the arguments of a call choose. Those that
differ in constants or options are algorithms, which the caller chooses by number.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from naiad.aot import dispatch
from naiad.aot.arguments import KEYWORDS
from naiad.aot.errors import LinkerError
from naiad.aot.signature import split

__all__ = ["Linked", "Parameter", "Variant", "link", "read_variants"]

DIRECTIVE = re.compile(r"//\s*tt-linker:\s*(\w+):(.*):(\w*)\s*")
FACTS = re.compile(r"//\s*naiad-linker:\s*(\{.*\})\s*")
NAME = re.compile(r"(\w+)_([0-9a-f]{8})_(\w+)")
PARAMETER = re.compile(r"(.*[\s*])(\w+)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a launcher: its type in C, its name, and what the variant was specialised for: 16, 1 or None."""

    type: str
    name: str
    hint: int | None = None

    @property
    def text(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Variant:
    """A launcher: its name, the kernel's, the algorithm that it is a variant of; the types of its arguments, and the
    kernel's constants, as a signature has them.
    """

    name: str
    kernel: str
    algorithm: str
    backend: str
    parameters: tuple[Parameter, ...]
    types: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()

    @property
    def hints(self) -> tuple[int | None, ...]:
        return tuple(parameter.hint for parameter in self.parameters)


@dataclass(frozen=True)
class Linked:
    """The dispatcher: the name of its function, the algorithms in the order of their numbers, header and source."""

    name: str
    algorithms: tuple[str, ...]
    header: str
    source: str

    def write(self, path: str | Path) -> list[Path]:
        """Writes `path.h` and `path.c`; gives their paths."""
        files = [Path(path).with_suffix(".h"), Path(path).with_suffix(".c")]
        files[0].write_text(self.header)
        files[1].write_text(self.source)
        return files


def link(headers: Sequence[str], prefix: str = "") -> Linked:
    """The dispatcher for kernels with these headers (their texts). Raises LinkerError.

    It is called as the kernels' common name with `prefix` before it.
    """
    variants = [variant for text in headers for variant in read_variants(text)]
    if not variants:
        raise LinkerError("no header has a kernel", expected="headers that `naiad compile` wrote")
    first = variants[0]
    for variant in variants[1:]:
        _check_same(first, variant)
    algorithms: dict[str, list[Variant]] = {}
    for variant in variants:
        algorithms.setdefault(variant.algorithm, []).append(variant)
    for members in algorithms.values():
        _check_distinct(members)
        members.sort(key=lambda variant: -sum(hint is not None for hint in variant.hints))
    name = prefix + first.kernel
    if name in KEYWORDS or not name.isidentifier():
        raise LinkerError(f"{name!r} cannot be the name of a function in C", advice="give another prefix, or out name")
    named = {f"{name}_{algorithm}": members for algorithm, members in algorithms.items()}
    style = dispatch.STYLES[first.backend]
    header, source = dispatch.header(name, named, style), dispatch.source(name, named, style)
    return Linked(name, tuple(named), header, source)


def read_variants(header: str) -> list[Variant]:
    """The launchers that a header declares: those with a line for the linker."""
    found = []
    lines = header.splitlines()
    for number, line in enumerate(lines):
        if match := DIRECTIVE.fullmatch(line.strip()):
            facts = FACTS.fullmatch(lines[number + 1].strip()) if number + 1 < len(lines) else None
            found.append(_variant(match, facts))
    return found


def _variant(directive: re.Match[str], facts: re.Match[str] | None) -> Variant:
    name, signature, algorithm = directive.groups()
    parts = NAME.fullmatch(name)
    if parts is None:
        raise LinkerError(f"{name!r} is not the name of a compiled kernel", expected="kernel_HASH_SUFFIX")
    if facts is None:
        raise LinkerError(f"the header of {name} was not written by naiad: the line `naiad-linker` is missing",
                          advice="compile the kernel with `naiad compile`")  # fmt: skip
    said = json.loads(facts[1])
    backend, hints = said["backend"], said["hints"]
    texts = split(signature)
    if backend not in dispatch.STYLES or len(texts) != len(hints):
        raise LinkerError(f"the lines for the linker in the header of {name} do not agree", found=directive[0])
    parameters = [_parameter(name, text, hint) for text, hint in zip(texts, hints, strict=True)]
    types = tuple(re.sub(r"^\*k", "*", kind) for kind in said.get("types", ()))  # const tells nothing apart
    constants = tuple(said.get("constants", ()))
    return Variant(name, parts[1], algorithm, backend, tuple(parameters), types, constants)


def _parameter(kernel: str, text: str, hint: int | None) -> Parameter:
    match = PARAMETER.fullmatch(text)
    if match is None:
        raise LinkerError(f"{text!r} in the header of {kernel} is no parameter of C", expected="a type and a name")
    return Parameter(match[1].strip(), match[2], hint)


def _check_same(first: Variant, other: Variant) -> None:
    """One dispatcher has one name, one target and one list of parameters."""
    if other.kernel != first.kernel:
        raise LinkerError(f"headers of two kernels: {first.kernel} and {other.kernel}",
                          advice="link each by itself")  # fmt: skip
    if other.backend != first.backend:
        raise LinkerError(f"{first.kernel} was compiled for {first.backend} and for {other.backend}",
                          advice="link what is for one of them")  # fmt: skip
    signatures = [([p.text for p in v.parameters], list(v.types)) for v in (first, other)]
    for expected, found in zip(*signatures, strict=True):
        if expected != found:
            raise LinkerError(f"Mismatched signature for kernel {first.kernel}", expected=", ".join(expected),
                              found=", ".join(found))  # fmt: skip


def _check_distinct(members: Sequence[Variant]) -> None:
    """The variants of an algorithm differ in hints, and in nothing else."""
    seen: dict[tuple[int | None, ...], Variant] = {}
    for variant in members:
        if (other := seen.setdefault(variant.hints, variant)) is not variant:
            raise LinkerError(f"nothing tells {variant.name} from {other.name}", advice="give only one of them")
        if variant.constants != members[0].constants:
            raise LinkerError(f"{variant.name} and {members[0].name} have other constants, alike as words of a name",
                              expected=", ".join(members[0].constants), found=", ".join(variant.constants))  # fmt: skip
