"""load and store, through scalar pointers, tiles of pointers and block pointers.

A bool takes a byte in memory: it loads as `byte != 0`, and any non-zero number stores as True.
"""

from collections.abc import Sequence
from typing import Any

from naiad.language.block_pointers import checked_dimensions, is_block_pointer
from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.casts import cast_to, stored_type
from naiad.language.promotion import broadcast_all, broadcast_pair, broadcast_to_shape, optional_tensor, to_tensor
from naiad.language.tensor import dimensions, member, tensor
from naiad.language.types import int1, pointer_type

_CACHE_OF_LOADS = ("", ".ca", ".cg", ".cs", ".cv")
_CACHE_OF_STORES = ("", ".wb", ".cg", ".cs", ".wt")
_EVICTION = ("", "evict_normal", "evict_first", "evict_last")
_PADDING = ("", "zero", "nan")


def _word(what: str, value: str | None, allowed: Sequence[str]) -> str:
    value = value or ""
    if value not in allowed:
        raise ValueError(f"{what} {value} not supported")
    return value.removeprefix(".")


def hints(cache: str | None, eviction: str | None, caches: Sequence[str]) -> dict[str, str]:
    """The attributes `cache` and `evict`."""
    return {
        "cache": _word("Cache modifier", cache, caches) or "none",
        "evict": _word("Eviction policy", eviction, _EVICTION) or "evict_normal",
    }


def padding_word(option: str | None) -> str | None:
    """'zero', 'nan', or None where nothing is said."""
    return _word("Padding option", option, _PADDING) or None


def check_mask(mask: tensor | None) -> None:
    if mask is not None and not mask.dtype.is_bool():
        raise ValueError("Mask must have boolean scalar type")


@builtin
def load(
    pointer: tensor,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: str | None = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """Reads what `pointer` points at.

    `pointer` is a scalar, a tile of pointers, or a block pointer. Lanes whose `mask` is false touch no memory and give
    `other`.
    Of a block pointer, the dimensions in `boundary_check` are checked, and what is outside gives `padding_option`
    ("zero" or "nan").
    """
    attributes: dict[str, Any] = hints(cache_modifier, eviction_policy, _CACHE_OF_LOADS)
    attributes["isVolatile"] = bool(volatile)
    padding = padding_word(padding_option)
    mask, other = optional_tensor(mask), optional_tensor(other)
    if is_block_pointer(pointer):
        return _load_block(pointer, mask, other, boundary_check, padding, attributes)
    if not _is_pointer(pointer):
        raise ValueError(f"Unsupported ptr type {_type_name(pointer)} in `tl.load`")
    if mask is None and other is not None:
        raise ValueError("`other` cannot be provided without `mask`")
    if padding or boundary_check:
        raise ValueError(
            "`padding_option` or `boundary_check` argument is not supported for loading a tensor of"
            "pointers or loading a scalar. Because the compiler does not know the boundary; please "
            "use block pointers (defined by `make_block_ptr`) instead"
        )
    return _load_elements(pointer, mask, other, attributes)


def _is_pointer(value: Any) -> bool:
    return isinstance(value, tensor) and value.dtype.is_ptr()


def _type_name(value: Any) -> str:
    return repr(value.type) if isinstance(value, tensor) else type(value).__name__


def _load_elements(pointer: tensor, mask: tensor | None, other: tensor | None, attributes: dict[str, Any]) -> tensor:
    check_mask(mask)
    if not pointer.type.is_block():
        for name, value in (("Mask", mask), ("Other", other)):
            if value is not None and value.type.is_block():
                raise ValueError(f"{name} argument cannot be block type if pointer argument is not a block")
    elif mask is not None:
        pointer, mask = broadcast_pair(pointer, mask)
        if other is not None:
            pointer, other = broadcast_pair(pointer, other)
            mask = broadcast_to_shape(mask, dimensions(pointer))
    element = pointer.dtype.element_ty
    pointer = as_stored(pointer)
    type = pointer.type.with_element_ty(stored_type(element))
    filling = None if other is None else cast_to(other, stored_type(element)).handle
    lanes = None if mask is None else mask.handle
    loaded = tensor(builder().emit("tt.load", (pointer.handle, lanes, filling), type, **attributes), type)
    return cast_to(loaded, element)


def _load_block(
    pointer: tensor,
    mask: tensor | None,
    other: tensor | None,
    boundary_check: Any,
    padding: str | None,
    attributes: dict[str, Any],
) -> tensor:
    if mask is not None or other is not None:
        raise ValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    block = pointer.type.element_ty
    if block.element_ty.is_int() and padding == "nan":
        raise ValueError("Padding option `nan` is not supported for integer block pointers")
    checked = checked_dimensions(boundary_check, block.shape)
    if padding:
        attributes["padding"] = padding
    return tensor(builder().emit("tt.load", (pointer.handle,), block, boundaryCheck=checked, **attributes), block)


def as_stored(pointer: tensor) -> tensor:
    """A pointer to bools as one to bytes; every other as it is."""
    type = pointer.dtype
    if type.element_ty != int1:
        return pointer
    return cast_to(pointer, pointer_type(stored_type(int1), type.address_space, type.const))


def to_stored(value: tensor, pointer: tensor) -> tensor:
    """`value` as what `pointer` points at, as it lies in memory."""
    element = pointer.dtype.element_ty
    return cast_to(cast_to(value, element), stored_type(element))


@member
@builtin
def store(
    pointer: tensor,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Writes `value`, cast to the type pointed at, to where `pointer` points; not in lanes whose `mask` is false."""
    attributes = hints(cache_modifier, eviction_policy, _CACHE_OF_STORES)
    value, mask = to_tensor(value), optional_tensor(mask)
    if is_block_pointer(pointer):
        return _store_block(pointer, value, mask, boundary_check, attributes)
    if not _is_pointer(pointer):
        raise ValueError(f"Unsupported ptr type {_type_name(pointer)} in `tl.store`")
    if pointer.dtype.is_const():
        raise ValueError("Cannot store to a constant pointer")
    if boundary_check:
        raise ValueError(
            "`boundary_check` argument is not supported for storing a tensor of pointers or storing a "
            "scalar. Because the compiler does not know the boundary; please use block pointers "
            "(defined by `make_block_ptr`) instead"
        )
    return _store_elements(pointer, value, mask, attributes)


def in_shape_of(pointer: tensor, value: tensor, mask: tensor | None) -> tuple[tensor, tensor | None]:
    """What is written through `pointer`, and its mask, in the shape of `pointer`."""
    if not pointer.type.is_block():
        for name, given in (("Value", value), ("Mask", mask)):
            if given is not None and given.type.is_block():
                raise ValueError(f"{name} argument cannot be block type if pointer argument is not a block")
        return value, mask
    stretched, value, *masks = broadcast_all(pointer, value, *([] if mask is None else [mask]))
    if stretched.type != pointer.type:
        raise ValueError(
            f"Expected pointer argument to have shape {list(dimensions(stretched))} but got {list(dimensions(pointer))}"
        )
    return value, masks[0] if masks else None


def _store_elements(pointer: tensor, value: tensor, mask: tensor | None, attributes: dict[str, str]) -> None:
    check_mask(mask)
    value, mask = in_shape_of(pointer, value, mask)
    written = to_stored(value, pointer)
    lanes = None if mask is None else mask.handle
    builder().emit("tt.store", (as_stored(pointer).handle, written.handle, lanes), **attributes)


def _store_block(
    pointer: tensor, value: tensor, mask: tensor | None, boundary_check: Any, attributes: dict[str, str]
) -> None:
    if mask is not None:
        raise ValueError("`mask` and `other` arguments cannot be specified for loading block pointers")
    if pointer.dtype.is_const():
        raise ValueError("Cannot store to a constant pointer")
    block = pointer.type.element_ty
    if not value.type.is_block():
        value = broadcast_to_shape(value, block.shape)
    if block.shape != dimensions(value):
        raise AssertionError(f"Block shape({list(block.shape)}) and value shape({list(dimensions(value))}) mismatch")
    value = cast_to(value, block.element_ty)
    checked = checked_dimensions(boundary_check, block.shape)
    builder().emit("tt.store", (pointer.handle, value.handle), boundaryCheck=checked, **attributes)
