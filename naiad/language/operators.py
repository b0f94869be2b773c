"""The operators of tensors: which function of the language each one calls."""

from collections.abc import Callable
from typing import Any

from naiad.language import arithmetic as a
from naiad.language.builtin import builtin
from naiad.language.compare import compare, logical_and, logical_or, not_
from naiad.language.tensor import tensor

_BINARY: dict[str, Callable[..., tensor]] = {
    "add": a.add,
    "sub": a.sub,
    "mul": a.mul,
    "truediv": a.truediv,
    "floordiv": a.floordiv,
    "mod": a.mod,
    "and": a.and_,
    "or": a.or_,
    "xor": a.xor_,
    "lshift": a.shl,
    "rshift": a.shr,
}
_UNARY: dict[str, Callable[..., tensor]] = {"neg": a.minus, "pos": a.plus, "invert": a.invert, "not": not_}


def _swapped(function: Callable[..., tensor]) -> Callable[..., tensor]:
    @builtin
    def reflected(self: Any, other: Any) -> tensor:
        return function(other, self)

    return reflected


def _comparison(relation: str) -> Callable[..., tensor]:
    @builtin
    def method(self: Any, other: Any) -> tensor:
        return compare(relation, self, other)

    return method


for _name, _function in _BINARY.items():
    setattr(tensor, f"__{_name}__", _function)
    setattr(tensor, f"__r{_name}__", _swapped(_function))
for _name, _function in _UNARY.items():
    setattr(tensor, f"__{_name}__", _function)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(tensor, f"__{_name}__", _comparison(_name))
tensor.logical_and = logical_and  # type: ignore[attr-defined]
tensor.logical_or = logical_or  # type: ignore[attr-defined]
