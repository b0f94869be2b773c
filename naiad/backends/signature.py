"""The names of types in a kernel's signature, how the dtypes of torch, numpy and ml_dtypes are called there, and which
values a launch passes.
"""

from collections.abc import Iterator
from typing import Any

from naiad.language.types import dtype, pointer_type

# Every spelling of an element's type -> its name in a signature.
type_canonicalisation_dict: dict[str, str] = {
    "bool": "i1", "bool_": "i1", "int1": "i1", "uint1": "i1", "u1": "i1",
    "float8e4nv": "fp8e4nv", "float8_e4m3fn": "fp8e4nv", "float8e5": "fp8e5", "float8_e5m2": "fp8e5",
    "float8e4b15": "fp8e4b15", "float8e4b8": "fp8e4b8", "float8_e4m3fnuz": "fp8e4b8", "float8e5b16": "fp8e5b16",
    "float8_e5m2fnuz": "fp8e5b16", "half": "fp16", "float16": "fp16", "bfloat16": "bf16", "float": "fp32",
    "float32": "fp32", "double": "fp64", "float64": "fp64", "int": "i32", "void": "void",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)}, **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
type_canonicalisation_dict |= {name: name for name in list(type_canonicalisation_dict.values())}
BITS = {
    "i1": 1, "void": 0, "bf16": 16, **{f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)},
    **{f"fp{bits}": bits for bits in (16, 32, 64)},
    **{f"fp8{kind}": 8 for kind in ("e4nv", "e5", "e4b15", "e4b8", "e5b16")},
}  # fmt: skip
Path = tuple[int | str, ...]
"""Where a value is found among the arguments: indices, and names of a descriptor's attributes."""
_pointers: dict[Any, str] = {}


def canonicalize_dtype(kind: Any) -> str:
    """The name (`fp32`) of a dtype of torch, numpy, ml_dtypes or triton.language. TypeError if there is none."""
    text = str(getattr(kind, "name", kind)).split(".")[-1]
    if not getattr(kind, "isnative", True):
        raise TypeError(f"an array of dtype {kind} has the bytes of its numbers in the other order; pass a copy: "
                        f"x.astype(x.dtype.newbyteorder('='))")  # fmt: skip
    if (name := type_canonicalisation_dict.get(text)) is None:
        known = ", ".join(sorted(set(BITS) - {"void"}))
        raise TypeError(f"an array of dtype {kind} cannot be passed to a kernel; kernels know {known}")
    return name


def pointer_name(kind: Any, const: bool) -> str:
    """`*fp32` for an array of float32, `*kfp32` where it is only read."""
    name = _pointers.get(kind)
    if name is None:
        name = _pointers[kind] = "*" + canonicalize_dtype(kind)
    return "*k" + name[1:] if const else name


def canonicalize_ptr_dtype(kind: Any, is_const: bool) -> str:
    return pointer_name(kind, is_const)


def get_primitive_bitwidth(kind: str) -> int:
    return BITS[type_canonicalisation_dict[kind]]


def normalize_type(annotation: Any) -> str:
    """The annotation of a parameter as text: `*fp32`, `i64`, `constexpr`, or what it says, where that is no type."""
    if isinstance(annotation, pointer_type):
        return f"*{normalize_type(annotation.element_ty)}"
    if isinstance(annotation, str):
        text = annotation.strip()
        if text.startswith("const "):
            return "*k" + normalize_type(text.removeprefix("const "))[1:]
        if text.endswith("*"):
            return "*" + normalize_type(text[:-1])
        if text.startswith("*"):
            return "*" + normalize_type(text[1:])
        text = text.split(".")[-1]
    elif isinstance(annotation, dtype):
        text = annotation.name
    else:
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return type_canonicalisation_dict.get(text.removesuffix("_t"), text)


def passed(src: Any) -> Iterator[tuple[Path, str]]:
    """Path and type of each value that a launch of a source passes, in the order of the kernel's parameters.

    Constants have none, a tuple has those of its parts, a descriptor its base, its sizes, its strides.
    """

    def visit(path: Path, kind: Any) -> Iterator[tuple[Path, str]]:
        if isinstance(kind, tuple):
            for i, part in enumerate(kind):
                yield from visit((*path, i), part)
        elif kind == "constexpr" or path in src.constants:
            return
        elif kind.startswith("tensordesc"):
            yield (*path, "base"), "*i8"
            yield from (((*path, "shape", i), "i32") for i in range(descriptor_rank(kind)))
            yield from (((*path, "strides", i), "i64") for i in range(descriptor_rank(kind)))
        else:
            yield path, kind

    for i, kind in enumerate(src.signature.values()):
        yield from visit((i,), kind)


def descriptor_rank(kind: str) -> int:
    """The dimensions of `tensordesc<fp16[16, 32]>`; what follows the brackets does not count."""
    return kind.count(",", kind.index("["), kind.index("]")) + 1
