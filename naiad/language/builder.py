"""What `language` needs of whoever evaluates it: the protocol of the two builders, and which one is at work.

The functions of the language type their arguments and then say `builder().emit("arith.addi", (a, b), int32)`. The
compiler answers by making an op of that name in the IR (`compiler/builder.py`), the interpreter by computing it with
numpy (`runtime/interpreter`): one semantic layer, two builders.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from naiad.language.types import dtype

Handle: TypeAlias = Any
"""A value of a builder: an SSA value of the IR, or a numpy array. `language` only passes it on."""


@dataclass(frozen=True)
class Body:
    """The region of an op: `build` gets a handle per type of `arguments` and returns those that the region gives."""

    arguments: Sequence["dtype"]
    build: Callable[[Sequence[Handle]], Sequence[Handle]]


class Builder(Protocol):
    """Makes ops by their IR name. Types are the language's; attributes are plain Python values, named as in the IR."""

    options: Any
    """The backend's options (`options.allow_tf32`, `options.default_dot_input_precision`, ...)."""

    def emit(self, op: str, operands: Sequence[Handle | None], type: Any = None, **attributes: Any) -> Any:
        """Makes one op. `type`: None (no result), a language type (gives a handle), or a tuple of them (gives a tuple).

        An operand that is None is an optional operand left out.
        """

    def emit_region(self, op: str, operands: Sequence[Handle], type: Any, body: Body, **attributes: Any) -> Any:
        """Makes one op with a region: tt.reduce, tt.scan, tt.map_elementwise.

        `type` may be a list that is filled while the body is built (tt.map_elementwise learns its results from it).
        """

    def annotate(self, handle: Handle, name: str, values: tuple[int, ...]) -> None:
        """Notes a promise of the programmer about a value: tt.divisibility, tt.contiguity or tt.constancy, one number a
        dimension. It goes to the op that makes the value, as an attribute; a builder may do nothing.
        """

    def constant(self, value: int | float | bool, type: "dtype") -> Handle:
        """A constant: a scalar, or a tile with `value` everywhere where `type` is a block type."""

    def known(self, handle: Handle) -> int | float | bool | None:
        """The number that a scalar certainly is (the compiler's constants), or None."""

    def call(self, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Evaluates a @jit function on values of the language, inlined at this place, and returns its result."""

    # A builder that computes as it goes also has `concrete(value: tensor) -> int | float | bool`: Python's number for a
    # scalar, which is what `if x:` and `range(n)` ask for. Without it those raise a TypeError.


class _State(threading.local):
    builder: Builder | None = None


_state = _State()


def builder() -> Builder:
    """The builder at work in this thread. Raises RuntimeError outside of a kernel."""
    if _state.builder is None:
        raise RuntimeError("a function of triton.language was called outside of a @triton.jit function")
    return _state.builder


def is_building() -> bool:
    """Whether a builder is at work in this thread."""
    return _state.builder is not None


@contextmanager
def building(active: Builder) -> Iterator[Builder]:
    """Makes `active` the builder of this thread while the block runs."""
    before, _state.builder = _state.builder, active
    try:
        yield active
    finally:
        _state.builder = before
