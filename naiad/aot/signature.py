"""The signature of a kernel that is compiled ahead of time: `"*fp32:16, i32, i32:1, 1024"`, an entry a parameter.

An entry is a type with, after a colon, what is known of every argument (`:16` divisible by 16, `:1` equal to 1), or the
value of a constexpr: a number, True, False, None, a quoted text, or a dtype (`tl.float16`).
"""

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from naiad.aot.errors import SignatureError
from naiad.backends.signature import BITS
from naiad.language.function import Function, Parameter

__all__ = ["CONSTANT", "Entry", "Signature", "parse_signature", "spelled", "split", "word"]

CONSTANT = "constexpr"
TYPES = "such as *fp32, *kfp16 (only read), i32, fp32, or a value of a constexpr"
DESCRIPTOR = re.compile(r"tensordesc<\w+\[\s*\d+(\s*,\s*\d+)*\s*\].*>")


@dataclass(frozen=True)
class Entry:
    """What is said of one parameter. kind: a type or "constexpr", whose value is `value`; hint: 16, 1 or None."""

    name: str
    text: str
    kind: str
    hint: int | None = None
    value: Any = None

    @property
    def is_constant(self) -> bool:
        return self.kind == CONSTANT


@dataclass(frozen=True)
class Signature:
    """The entries in the order of the parameters, and the options that tell apart what is compiled from the same."""

    entries: tuple[Entry, ...]
    options: str

    @property
    def hash(self) -> str:
        """Eight hexadecimal digits for the entries as they were written, and the options."""
        text = " ".join([*(entry.text for entry in self.entries), self.options])
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def suffix(self) -> str:
        """The number of each parameter, with `d` where it is divisible by 16 and `c` where it is 1: `0d1d2c3`."""
        return "".join(f"{i}{ {16: 'd', 1: 'c'}.get(entry.hint or 0, '') }" for i, entry in enumerate(self.entries))

    @property
    def algorithm(self) -> str:
        """The constants and options, as part of a name in C: those that agree here are variants of one algorithm."""
        words = "x".join(word(entry.value) for entry in self.entries if entry.is_constant)
        return "_".join(filter(None, (words, self.options)))

    @property
    def types(self) -> dict[str, str]:
        return {entry.name: entry.kind for entry in self.entries}

    @property
    def constants(self) -> dict[tuple[int, ...], Any]:
        """The constexprs, and the arguments that are 1: these keep their type and are compiled in as a value."""
        known: dict[tuple[int, ...], Any] = {
            (i,): entry.value for i, entry in enumerate(self.entries) if entry.is_constant
        }
        return known | {(i,): 1 for i, entry in enumerate(self.entries) if entry.hint == 1}

    @property
    def attributes(self) -> dict[tuple[int, ...], list[list[Any]]]:
        return {(i,): [["tt.divisibility", 16]] for i, entry in enumerate(self.entries) if entry.hint == 16}


def spelled(value: Any) -> str:
    """A constant as it is written in a signature: the texts of two that differ do so too. fp16 is a dtype."""
    return str(getattr(value, "name", None) or repr(value))


def word(value: Any) -> str:
    """A constant as letters of a name in C: 1.5 as 1p5, -2 as m2. Not all that differ do so here: "-2" is m2 too."""
    text = str(getattr(value, "name", value)).replace("-", "m").replace(".", "p").replace("+", "")
    return re.sub(r"\W", "_", text)


def parse_signature(
    fn: Function, signature: str | Sequence[Any] | Mapping[str, Any], constants: Mapping[str, Any], options: str
) -> Signature:
    """The signature of `fn`: text, a sequence with an entry a parameter, or a mapping by name. SignatureError."""
    parameters = fn.params
    if unknown := [name for name in constants if name not in fn.arg_names]:
        raise SignatureError(f"{fn.__name__} has no parameter {unknown[0]!r}", expected=", ".join(fn.arg_names))
    given = by_name(fn, signature, constants)
    return Signature(tuple(entry_of(fn, parameter, given) for parameter in parameters), options)


def by_name(
    fn: Function, signature: str | Sequence[Any] | Mapping[str, Any], constants: Mapping[str, Any]
) -> dict[str, Any]:
    """What was said of each parameter, as it was written; constants take the place of what the signature says."""
    if isinstance(signature, Mapping):
        if unknown := [name for name in signature if name not in fn.arg_names]:
            raise SignatureError(f"{fn.__name__} has no parameter {unknown[0]!r}", expected=", ".join(fn.arg_names))
        return {**signature, **{name: Value(value) for name, value in constants.items()}}
    items = split(signature) if isinstance(signature, str) else list(signature)
    names = fn.arg_names
    if len(items) < len(names) and constants:
        names = [name for name in names if name not in constants]
    if len(items) > len(names):
        raise SignatureError(
            f"the signature has {len(items)} entries, and {fn.__name__} has {len(names)} parameters",
            expected=", ".join(names), found=", ".join(map(str, items)),
        )  # fmt: skip
    return {**dict(zip(names, items, strict=False)), **{name: Value(value) for name, value in constants.items()}}


@dataclass(frozen=True)
class Value:
    """A constant that was given as a value, not as text."""

    value: Any


def entry_of(fn: Function, parameter: Parameter, given: Mapping[str, Any]) -> Entry:
    """The entry of a parameter. What is left out is a constexpr's default."""
    name = parameter.name
    if parameter.variadic:
        raise SignatureError(f"{fn.__name__} takes any number of arguments (*{name}): a function in C cannot")
    item = given.get(name, CONSTANT)
    if item == CONSTANT:
        if not parameter.has_default:
            what = "type" if not parameter.is_constexpr else "value"
            raise SignatureError(
                f"the signature has no {what} for parameter {parameter.num} ({name}) of {fn.__name__}",
                expected=f"{len(fn.arg_names)} entries: {', '.join(fn.arg_names)}",
                found=", ".join(map(str, given.values())) or "nothing",
            )
        item = Value(parameter.default)
    if isinstance(item, Value) or not isinstance(item, str):
        value = item.value if isinstance(item, Value) else item
        return Entry(name, spelled(value), CONSTANT, None, value)
    return parse_entry(name, parameter, item.strip())


def parse_entry(name: str, parameter: Parameter, text: str) -> Entry:
    where = f"entry {parameter.num} of the signature ({name})"
    known, value = literal(text)
    if known:
        return Entry(name, text, CONSTANT, None, value)
    if parameter.is_constexpr:
        raise SignatureError(f"{where}: {name} is a constexpr, which needs a value", found=repr(text),
                             expected="a number, True, False, None, 'text', or a dtype such as tl.float16")  # fmt: skip
    kind, _, hint = text.partition(":")
    kind, hint = kind.strip(), hint.strip()
    if not is_type(kind):
        raise SignatureError(f"{where}: {kind!r} is no type that a kernel can be given", expected=TYPES)
    if ":" not in text:
        return Entry(name, text, kind)
    if hint not in ("16", "1"):
        raise SignatureError(f"{where}: {hint!r} is not a hint", expected=":16 (divisible by 16) or :1 (equal to 1)")
    if kind.startswith(("fp", "bf", "tensordesc")) or (kind[0] == "*" and hint == "1"):
        raise SignatureError(f"{where}: an argument of type {kind} cannot be specialised by :{hint}",
                             expected=":16 for pointers and integers, :1 for integers")  # fmt: skip
    return Entry(name, text, kind, int(hint))


def literal(text: str) -> tuple[bool, Any]:
    """(whether the text is a constant's value, the value)."""
    for kind in (int, float):
        try:
            return True, kind(text)
        except ValueError:
            continue
    if text in ("True", "False", "None") or text[:1] in ("'", '"'):
        try:
            return True, ast.literal_eval(text)
        except (SyntaxError, ValueError) as error:
            raise SignatureError(f"{text} is no text: {error}") from error
    module, _, name = text.rpartition(".")
    if module in ("tl", "triton.language", "naiad.language"):
        from naiad.language import types

        found = getattr(types, name, None)
        if isinstance(found, types.dtype):
            return True, found
    return False, None


def is_type(kind: str) -> bool:
    """Whether a launcher in C can take an argument of the type."""
    if kind.startswith("*"):
        element = kind[1:].removeprefix("k")
        return element in BITS or (element.startswith("*") and is_type(element))
    return (kind in BITS and kind != "void" and not kind.startswith("fp8")) or bool(DESCRIPTOR.fullmatch(kind))


def split(text: str) -> list[str]:
    """The parts of a text between commas that stand in no brackets or quotes, without blanks around them."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and not depth:
                parts.append("")
                continue
        parts[-1] += character
    return [part.strip() for part in parts] if text.strip() else []
