"""Runs kernels of naiad on the emulator, with numpy arrays as arguments: what `kernel[grid](...)` does on a GPU."""

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from naiad.backends.base import GPUTarget
from naiad.backends.nvidia.parameters import parameters_of
from naiad.compiler.compiler import ASTSource
from naiad.compiler.compiler import compile as compile_kernel

from .emulator import Memory, launch

NAMES = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "bfloat16": "bf16", "int32": "i32", "int64": "i64",
         "int16": "i16", "int8": "i8", "uint32": "u32", "uint64": "u64", "uint16": "u16", "uint8": "u8", "bool": "i1",
         "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}  # fmt: skip


class Stand:
    """An array in the emulator's memory, as the launcher sees a tensor."""

    def __init__(self, address: int, dtype: Any):
        self.address, self.dtype = address, dtype

    def data_ptr(self) -> int:
        return self.address


def kind_of(value: Any) -> str:
    """The type of an argument in a signature."""
    if isinstance(value, np.ndarray):
        return "*" + NAMES[value.dtype.name]
    if isinstance(value, bool):
        return "i1"
    return "fp32" if isinstance(value, float) else "i32" if -(2**31) <= value < 2**31 else "i64"


def compiled(kernel: Any, arguments: dict[str, Any], constants: dict[str, Any], arch: int = 80, **options: Any) -> Any:
    """The kernel for these arguments: divisibility by 16 is assumed of arrays and of integers that have it."""
    signature, attrs, given = {}, {}, {}
    for n, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name], given[n,] = "constexpr", constants[name]
            continue
        value = arguments[name]
        signature[name] = kind_of(value)
        if isinstance(value, np.ndarray) or (
            isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0
        ):
            attrs[n,] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, given, attrs)
    return compile_kernel(source, target=GPUTarget("cuda", arch, 32), options=options)


def run(kernel: Any, grid: Sequence[int], *args: Any, arch: int = 80, **keywords: Any) -> None:
    """Compiles and emulates; arrays among the arguments are changed in place, as tensors on a GPU would be."""
    names = kernel.arg_names
    constant_names = {n for n, p in inspect.signature(kernel.fn).parameters.items() if "constexpr" in str(p.annotation)}
    given = {**dict(zip(names, args, strict=False)), **{k: v for k, v in keywords.items() if k in names}}
    options = {k: v for k, v in keywords.items() if k not in names}
    constants = {n: v for n, v in given.items() if n in constant_names or v is None}
    arguments = {n: v for n, v in given.items() if n not in constants}
    made = compiled(kernel, arguments, constants, arch, **options)
    emulate(made, grid, [given[n] for n in names])


def emulate(made: Any, grid: Sequence[int], args: Sequence[Any]) -> None:
    """Launches a compiled kernel on the emulator."""
    memory = Memory()
    stands: dict[int, Stand] = {}
    for value in args:
        if isinstance(value, np.ndarray):
            stands[id(value)] = Stand(memory.put(value), value.dtype)
    row = tuple(stands.get(id(v), v) for v in args)
    values = [packed(p.convert(row), p.code) for p in parameters_of(made.src)]
    launch(made.asm["ptx"], grid, values, made.metadata.shared, memory, made.metadata.num_ctas)
    for value in args:
        if isinstance(value, np.ndarray):
            value[...] = memory.get(stands[id(value)].address)


@functools.cache
def formats(code: str) -> Any:
    import struct

    return struct.Struct("<" + code)


def packed(value: Any, code: str) -> np.uint64:
    """A parameter as its 8 bytes."""
    return np.frombuffer(formats(code).pack(value), np.uint64)[0]
