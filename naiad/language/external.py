"""Code from outside of the language, for each element: inline assembly, and functions of a device library."""

from collections.abc import Sequence
from typing import Any

from naiad.language.builder import builder
from naiad.language.builtin import builtin
from naiad.language.promotion import broadcast_all, operands, to_tensor
from naiad.language.tensor import tensor
from naiad.language.types import dtype

Symbols = dict[tuple[dtype, ...], tuple[str, dtype]]
"""The types of the arguments: the function's name in the library, and the type of its result."""


@builtin
def inline_asm_elementwise(
    asm: str, constraints: str, args: Sequence[Any], dtype: Any, is_pure: bool, pack: int
) -> Any:
    """Runs assembly of the target on each group of `pack` elements of the tiles `args`, which are broadcast.

    `dtype`: the type of the result, or a tuple of types for several. Elements of less than 4 bytes share registers.
    """
    single = not isinstance(dtype, Sequence)
    values = broadcast_all(*[to_tensor(a) for a in args])
    elements = [dtype] if single else list(dtype)
    types = tuple(values[0].type.with_element_ty(e) for e in elements) if values else tuple(elements)
    handles = builder().emit(
        "tt.elementwise_inline_asm",
        [value.handle for value in values],
        types,
        asm_string=asm,
        constraints=constraints,
        pure=bool(is_pure),
        packed_element=int(pack),
    )
    results = tuple(tensor(handle, type) for handle, type in zip(handles, types, strict=True))
    return results[0] if single else results


@builtin
def extern_elementwise(
    lib_name: str, lib_path: str, args: Sequence[Any], arg_type_symbol_dict: Symbols, is_pure: bool
) -> tensor:
    """Calls the function of a device library that the types of the arguments choose."""
    values = [to_tensor(a) for a in args]
    return call_symbol(lib_name, lib_path, values, arg_type_symbol_dict, is_pure)


def resolve(values: list[tensor], symbols: Symbols) -> tuple[list[tensor], str, dtype]:
    """The values in one shape and in types that there is a function for, its symbol, and the type of its result.

    Where there is none for the types as they are, the values are brought to one type.
    """
    if not symbols:
        raise ValueError("arg_type_symbol_dict is empty")
    count = len(next(iter(symbols)))
    if len(values) != count:
        raise ValueError(f"length of input args does not match. Expect {count}, got {len(values)}")
    types = tuple(value.dtype for value in values)
    if types not in symbols and len(values) > 1:
        for i in range(1, len(values)):
            values[0], values[i] = operands(values[0], values[i])
        values[1:] = [operands(values[0], value)[1] for value in values[1:]]
        types = tuple(value.dtype for value in values)
    if types not in symbols:
        raise ValueError(f"input arg type does not match. Expect one of {list(symbols)}, got {types}")
    return broadcast_all(*values), *symbols[types]


def call_symbol(library: str, path: str, values: list[tensor], symbols: Symbols, pure: bool = True) -> tensor:
    """Calls the function of a device library for the types of `values`."""
    values, symbol, element = resolve(values, symbols)
    type = values[0].type.with_element_ty(element)
    handles = [value.handle for value in values]
    attributes = {"libname": library, "libpath": path, "symbol": symbol, "pure": bool(pure)}
    return tensor(builder().emit("tt.extern_elementwise", handles, type, **attributes), type)
