"""Errors that a kernel's author sees: the place, what was expected, what was found, what to do, and the reason.

The text of a CompilationError is Triton's (`at LINE:COL:`, the source, the reason as the last line) with more around:

    /home/me/k.py:12:9: in kernel
    at 3:8:
    def kernel(p, n):
        i = tl.program_id(0)
        x = tl.arange(0, n)
            ^^^^^^^^^^^^^^^
    expected: constexpr
    found:    start = 0, end = int32 (known only at run time)
    to do:    make the size a parameter `BLOCK: tl.constexpr` and mask what lies outside
    arange's arguments must be of type tl.constexpr
"""

from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["AutotunerError", "CompilationError", "CompileTimeAssertionFailure", "Explanation", "InterpreterError",
           "OutOfResources", "PTXASError", "Place", "TritonError", "UnsupportedLanguageConstruct", "explain",
           "explanation_of"]  # fmt: skip

SOURCE_LINES = 12
"""How many lines of the source a message shows: those that end in the one with the mistake."""

E = TypeVar("E", bound=BaseException)


class TritonError(Exception):
    """The base of all errors of the compiler and of the runtime."""


@dataclass(frozen=True)
class Place:
    """A piece of a kernel's source. Lines count from 1 at the `def`, columns from 0, as in Python's `ast`."""

    source: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    file: str = ""
    first_line: int = 1
    indent: int = 0
    function: str = ""
    """`file`, and the line in it of the source's first line, and by how many columns the source was indented there."""

    @property
    def header(self) -> str:
        """`file:line:column: in function`, as editors read it; empty without a file."""
        if not self.file:
            return ""
        where = f"{self.file}:{self.first_line + self.line - 1}:{self.indent + self.column + 1}"
        return f"{where}: in {self.function}" if self.function else where

    def excerpt(self) -> str:
        """`at LINE:COL:`, the source up to the line, and marks under what is meant."""
        lines = self.source.split("\n")[: self.line][-SOURCE_LINES:]
        if not lines or not self.source:
            return f"at {self.line}:{self.column}:"
        end = self.end_column if self.end_line == self.line else len(lines[-1].rstrip())
        marks = " " * self.column + "^" * max(1, end - self.column)
        return "\n".join((f"at {self.line}:{self.column}:", *lines, marks))

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.header, self.excerpt())))


@dataclass(frozen=True)
class Explanation:
    """What an error says beside its reason; empty parts are left out."""

    expected: str = ""
    found: str = ""
    advice: str = ""

    def lines(self) -> list[str]:
        parts = (("expected: ", self.expected), ("found:    ", self.found), ("to do:    ", self.advice))
        return [label + text for label, text in parts if text]


def explain(error: E, *, expected: str = "", found: str = "", advice: str = "") -> E:
    """Gives `error` an explanation, shown with the place: `raise explain(ValueError(..), advice=..)`."""
    error.explanation = Explanation(expected, found, advice)  # type: ignore[attr-defined]
    return error


def explanation_of(error: BaseException | None) -> Explanation:
    """The explanation that `explain` gave, or an empty one."""
    return getattr(error, "explanation", None) or Explanation()


class CompilationError(TritonError):
    """A mistake in a kernel. `error_message` is the reason alone; `inner` the error of the callee where it happened.

    Triton's order of arguments, `CompilationError(source, node, message)`, is understood too.
    """

    def __init__(
        self,
        error_message: str | None = None,
        place: Place | None = None,
        explanation: Explanation | None = None,
        inner: "CompilationError | None" = None,
    ) -> None:
        if isinstance(explanation, str):
            error_message, place, explanation = explanation, _place_of(error_message, place), None
        self.error_message = error_message
        self.place = place
        self.explanation = explanation or Explanation()
        self.inner = inner
        self.message = self._text()
        super().__init__(self.message)

    @property
    def src(self) -> str | None:
        """The source of the function, as Triton names it."""
        return self.place.source if self.place else None

    def reason(self) -> str:
        """The reason, where it happened in a callee the callee's."""
        return self.error_message or (self.inner.reason() if self.inner else "")

    def _text(self) -> str:
        """Caller first, callees below it, then the explanation and the reason of the innermost."""
        parts, innermost = [str(self.place or "")], self
        while innermost.inner is not None:
            innermost = innermost.inner
            parts.append(str(innermost.place or ""))
        return "\n".join(filter(None, (*parts, *innermost.explanation.lines(), innermost.error_message or "")))

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error_message, self.place, self.explanation, self.inner)


def _place_of(source: str | None, node: Any) -> Place | None:
    """The place of a node of a syntax tree, of which only the source is known."""
    if source is None or not hasattr(node, "lineno"):
        return None
    return Place(source, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)


class CompileTimeAssertionFailure(CompilationError):
    """`tl.static_assert` found its condition false."""


class UnsupportedLanguageConstruct(CompilationError):
    """A construct of Python that kernels do not have."""


MORE_ADVICE = {"threads": " So do fewer `num_warps`.", "registers": " So does `maxnreg`, or another `num_warps`."}
"""What else helps where a resource is short."""


class OutOfResources(TritonError):
    """The kernel needs more of `name` (shared memory, threads, registers) than the device has."""

    def __init__(self, required: int, limit: int, name: str) -> None:
        self.required, self.limit, self.name = required, limit, name
        super().__init__(
            f"out of resource: {name}, Required: {required}, Hardware limit: {limit}. "
            "Reducing block sizes or `num_stages` may help." + MORE_ADVICE.get(name, "")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.required, self.limit, self.name)


class PTXASError(TritonError):
    """The assembler of NVIDIA refused the PTX."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(f"PTXAS error: {self.error_message}")


class AutotunerError(TritonError):
    """No configuration can be chosen."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(f"Autotuner error: {self.error_message}")


class InterpreterError(TritonError):
    """A kernel that TRITON_INTERPRET=1 runs failed; the cause is chained."""

    def __init__(self, error_message: str | None = None) -> None:
        self.error_message = error_message or ""
        super().__init__(self.error_message)
