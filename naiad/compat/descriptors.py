"""Helpers of `triton.backends.driver` for launchers written elsewhere: tensor descriptors among arguments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["expand_signature", "wrap_handle_tensordesc_impl"]


def expand_signature(signature: Sequence[Any], tensordesc_meta: Sequence[Any], descriptor_type: str) -> list[Any]:
    """The types with each descriptor's parts in its place; a tuple of types stays one.

    With metadata of the descriptors, a descriptor is one of the device's (`descriptor_type`), its sizes (i32) and
    strides; without, a pointer, sizes and strides, two flags (how it pads, how it rounds), and sizes and strides again.
    """
    found: list[Any] = []
    for kind in signature:
        if isinstance(kind, tuple):
            found.append(tuple(expand_signature(kind, tensordesc_meta, descriptor_type)))
        elif _is_descriptor(kind):
            rank = _rank(kind)
            head = [descriptor_type] if tensordesc_meta else [f"*{_element(kind)}", *["i64"] * 2 * rank, "i1", "i1"]
            found += [*head, *["i32"] * rank, *["i64"] * rank]
        else:
            found.append(kind)
    return found


def wrap_handle_tensordesc_impl(
    launcher: Callable[..., Any],
    signature: Mapping[Any, Any],
    tensordesc_meta: Sequence[Any] | None,
    make_tensordesc_arg: Callable[[Any, Any, Sequence[Any]], Sequence[Any]],
) -> Callable[..., Any]:
    """A launcher whose last argument, the kernel's, may hold descriptors; the launcher itself where there is none.

    `make_tensordesc_arg(argument, metadata, other arguments)` gives the parts of one.
    """
    kinds = list(signature.values())
    count = sum(1 for kind in _flat(kinds) if _is_descriptor(kind))
    if not count:
        return launcher
    metadata = list(tensordesc_meta or [None] * count)

    def launch(*args: Any) -> Any:
        *others, given = args
        rest = iter(metadata)

        def expand(kinds: Sequence[Any], values: Sequence[Any]) -> list[Any]:
            parts: list[Any] = []
            for kind, value in zip(kinds, values, strict=True):
                if isinstance(kind, tuple):
                    parts.append(tuple(expand(kind, value)))
                elif _is_descriptor(kind):
                    parts += make_tensordesc_arg(value, next(rest), others)
                else:
                    parts.append(value)
            return parts

        return launcher(*others, expand(kinds, given))

    return launch


def _is_descriptor(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("tensordesc")


def _flat(kinds: Sequence[Any]) -> Iterator[Any]:
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from _flat(kind)
        else:
            yield kind


def _element(kind: str) -> str:
    """`fp16` of tensordesc<fp16[16,32]>."""
    return kind.partition("<")[2].partition("[")[0]


def _rank(kind: str) -> int:
    """The number of dimensions of the tensor, which is not that of the block where it is said (`input_rank=4`)."""
    _, given, rest = kind.partition("input_rank=")
    if given:
        return int(rest.partition(",")[0].rstrip(">"))
    return kind[kind.index("[") : kind.index("]")].count(",") + 1
