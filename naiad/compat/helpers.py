"""Small functions of `triton._utils` that packages import: paths into nested tuples, checks of shapes."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from naiad.backends.signature import BITS as BITWIDTH_DICT

__all__ = ["BITWIDTH_DICT", "TRITON_MAX_TENSOR_NUMEL", "apply_with_path", "find_paths_if", "get_iterable_path",
           "is_namedtuple", "is_power_of_two", "set_iterable_path", "validate_block_shape"]  # fmt: skip
TRITON_MAX_TENSOR_NUMEL = 1048576
Path = tuple[int, ...]


def get_iterable_path(nested: Any, path: Path) -> Any:
    """The element of a nested sequence at a path."""
    return reduce(lambda element, index: element[index], path, nested)


def set_iterable_path(nested: Any, path: Path, value: Any) -> None:
    """Replaces the element at a path in a nested tuple of the language."""
    get_iterable_path(nested, path[:-1])._setitem(path[-1], value)


def apply_with_path(nested: Any, function: Callable[[Path, Any], Any]) -> None:
    """Calls `function(path, element)` for each element that is no sequence."""

    def visit(path: Path, element: Any) -> None:
        if isinstance(element, list | tuple) or type(element).__name__ in ("tuple", "tuple_type"):
            for i, inner in enumerate(element):
                visit((*path, i), inner)
        else:
            function(path, element)

    visit((), nested)


def find_paths_if(nested: Any, condition: Callable[[Path, Any], bool]) -> list[Path]:
    """The paths of the elements for which `condition(path, element)` holds, in order."""
    found: list[Path] = []
    apply_with_path(nested, lambda path, element: found.append(path) if condition(path, element) else None)
    return found


def is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0


def validate_block_shape(shape: Sequence[int]) -> int:
    """How many elements a block of this shape has. TypeError or ValueError where a tile cannot have the shape."""
    count = 1
    for i, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {i} must be a power of 2")
        count *= size
    if count > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({count}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return count


def is_namedtuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
