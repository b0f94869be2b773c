"""The C around a kernel's code for NVIDIA GPUs: its header, and a launcher with the code in it that asks libcuda."""

import struct
from typing import Any

from naiad.aot.arguments import conversions, prototype
from naiad.aot.grid import constants_text
from naiad.aot.program import Program
from naiad.backends.nvidia.driver import MAX_DYNAMIC_SHARED, STATIC_LIMIT
from naiad.backends.nvidia.launcher import ATTRIBUTE_BYTES, attributes

__all__ = ["FIRST", "POINTER", "header", "source"]

FIRST, POINTER = "CUstream stream", "CUdeviceptr"
HEADER = """\
/* {title} */
#ifndef {name}_H
#define {name}_H
#include <cuda.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif
/* Loads the code into the current context; a first launch does it too. Call it before threads launch at once. */
CUresult load_{name}(void);
CUresult unload_{name}(void);
// tt-linker: {name}:{full}:{algorithm}
// naiad-linker: {directive}
CUresult {name}({signature});
#ifdef __cplusplus
}}
#endif
#endif
"""
SOURCE = """\
/* {title} */
#include <cuda.h>
#include <stdint.h>
#include <string.h>
{functions}
/* {kind} */
static const unsigned char {name}_code[{size}] __attribute__((aligned(64))) = {{
{data}}};
static CUmodule {name}_module;
static CUfunction {name}_function;

CUresult load_{name}(void)
{{
    CUmodule module;
    CUfunction function;
    CUresult result;
    if ({name}_function)
        return CUDA_SUCCESS;
    result = cuModuleLoadData(&module, {name}_code);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuModuleGetFunction(&function, module, "{symbol}");
{more_shared}    if (result != CUDA_SUCCESS) {{
        cuModuleUnload(module);
        return result;
    }}
    {name}_module = module;
    {name}_function = function;
    return CUDA_SUCCESS;
}}

CUresult unload_{name}(void)
{{
    CUmodule module = {name}_module;
    {name}_module = NULL;
    {name}_function = NULL;
    return module ? cuModuleUnload(module) : CUDA_SUCCESS;
}}

CUresult {name}({signature})
{{
    CUresult naiad_result = load_{name}();
    if (naiad_result != CUDA_SUCCESS)
        return naiad_result;
{constants}    const int64_t naiad_x = {x}, naiad_y = {y}, naiad_z = {z}, naiad_most = 0x7fffffff;
{converted}    if (naiad_x < 0 || naiad_y < 0 || naiad_z < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (naiad_x > naiad_most || naiad_y > naiad_most || naiad_z > naiad_most)
        return CUDA_ERROR_INVALID_VALUE;
    if (naiad_x == 0 || naiad_y == 0 || naiad_z == 0)
        return CUDA_SUCCESS;
    void *naiad_arguments[] = {{{pointers}}};
{launch}}}
"""
SHARED = """\
    if (result == CUDA_SUCCESS) /* {shared} bytes of shared memory, more than a kernel has without asking */
        result = cuFuncSetAttribute(function, (CUfunction_attribute){attribute}, {shared});
"""
PLAIN = """\
    return cuLaunchKernel({name}_function, (unsigned){x}, (unsigned)naiad_y, (unsigned)naiad_z, {threads}, 1, 1,
                          {shared}, stream, naiad_arguments, NULL);
"""
EXTENDED = """\
    /* Of the launch: {attributes} */
    static const uint32_t naiad_words[] = {{{words}}};
    CUlaunchAttribute naiad_attributes[{count}];
    CUlaunchConfig naiad_config;
    memset(&naiad_config, 0, sizeof naiad_config);
    memcpy(naiad_attributes, naiad_words, sizeof naiad_attributes);
    naiad_config.gridDimX = (unsigned){x}, naiad_config.gridDimY = (unsigned)naiad_y;
    naiad_config.gridDimZ = (unsigned)naiad_z;
    naiad_config.blockDimX = {threads}, naiad_config.blockDimY = 1, naiad_config.blockDimZ = 1;
    naiad_config.sharedMemBytes = {shared}, naiad_config.hStream = stream;
    naiad_config.attrs = naiad_attributes, naiad_config.numAttrs = {count};
    return cuLaunchKernelEx(&naiad_config, {name}_function, naiad_arguments, NULL);
"""
NAMES = {"launch_pdl": "programmatic dependent launch", "launch_cooperative_grid": "cooperative grid"}


def header(program: Program) -> str:
    """The text of the header."""
    return HEADER.format(**program.declared("cuda", FIRST, POINTER))


def source(program: Program, code: bytes, kind: str, metadata: Any) -> str:
    """The text of the launcher. kind: "cubin" or "ptx"."""
    passed = program.passed
    functions, converted = conversions(passed)
    x, y, z = program.grid
    shared = SHARED.format(shared=metadata.shared, attribute=MAX_DYNAMIC_SHARED)
    return SOURCE.format(
        title=program.title, name=program.name, symbol=program.symbol, functions=functions, kind=kind, size=len(code),
        data=bytes_text(code), more_shared=shared if metadata.shared > STATIC_LIMIT else "",
        signature=prototype(FIRST, passed, POINTER), constants=constants_text(program.entries, program.grid),
        x=x, y=y, z=z, converted=converted, launch=launch_text(program, metadata),
        pointers=", ".join(f"(void *)&{item.variable}" for item in passed) or "NULL",
    )  # fmt: skip


def launch_text(program: Program, metadata: Any) -> str:
    """The lines that launch: through cuLaunchKernelEx where the kernel's options ask for attributes of the launch."""
    found = list(attributes(metadata))
    ctas = getattr(metadata, "num_ctas", 1)
    x = f"(naiad_x * {ctas})" if ctas > 1 else "naiad_x"
    words = [word for data in found for word in struct.unpack(f"<{ATTRIBUTE_BYTES // 4}I", data)]
    asked = [name for option, name in NAMES.items() if getattr(metadata, option, False)]
    asked += [f"clusters of {ctas}"] if ctas > 1 else []
    return (EXTENDED if found else PLAIN).format(
        name=program.name, x=x, threads=32 * metadata.num_warps, shared=metadata.shared, count=len(found),
        words=", ".join(map(str, words)), attributes=", ".join(asked),
    )  # fmt: skip


def bytes_text(code: bytes) -> str:
    """The code as numbers, 24 a line."""
    rows = (code[i : i + 24] for i in range(0, len(code), 24))
    return "".join(f"    {', '.join(map(str, row))},\n" for row in rows)
