"""The C around a kernel's object for the CPU: its header, and a launcher that runs the grid on threads."""

from collections.abc import Iterable, Sequence

from naiad.aot.arguments import conversions, prototype
from naiad.aot.grid import constants_text
from naiad.aot.pool import POOL_INCLUDES, pool_name, pool_text
from naiad.aot.program import Program
from naiad.backends.cpu.host import HostCPU

__all__ = ["FIRST", "STATUS", "header", "source"]

FIRST = "int threads"
STATUS = """\
#ifndef NAIAD_AOT_STATUS
#define NAIAD_AOT_STATUS
/* What a launch gives: 0, or the number of a device_assert that failed, or one of these. */
enum { NAIAD_OK = 0, NAIAD_INVALID_VALUE = -1, NAIAD_UNSUPPORTED_CPU = -2 };
#endif
"""
HEADER = """\
/* {title} */
#ifndef {name}_H
#define {name}_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {{
#endif
{status}
/* Whether this machine can run the kernel: 0 or NAIAD_UNSUPPORTED_CPU. A launch asks too. */
int load_{name}(void);
/* Ends the threads of launches; the next launch starts them again. */
void unload_{name}(void);
/* What a status that a launch gave means. */
const char *{name}_error(int status);
// tt-linker: {name}:{full}:{algorithm}
// naiad-linker: {directive}
/* threads: how many run the grid; 0: NAIAD_NUM_THREADS, else all processors that the process may use. */
int {name}({signature});
#ifdef __cplusplus
}}
#endif
#endif
"""
SOURCE = """\
/* {title} */
{includes}{status}{pool}{functions}
/* The kernel's object file defines it. */
extern void {symbol}(int64_t begin, int64_t end, void *slots);

int load_{name}(void)
{{
{check}    return NAIAD_OK;
}}

void unload_{name}(void)
{{
    {pool_name}_stop();
}}

const char *{name}_error(int status)
{{
{messages}    switch (status) {{
    case NAIAD_OK:
        return "no error";
    case NAIAD_INVALID_VALUE:
        return "the grid has a negative size, one over 2147483647, or too many programs";
    case NAIAD_UNSUPPORTED_CPU:
        return {unsupported};
    }}
    return "unknown status";
}}

int {name}({signature})
{{
    static int naiad_ready;
    int64_t naiad_status = 0, naiad_slots[{count}];
{constants}    const int64_t naiad_x = {x}, naiad_y = {y}, naiad_z = {z}, naiad_most = 0x7fffffff;
{converted}    if (naiad_x < 0 || naiad_y < 0 || naiad_z < 0)
        return NAIAD_INVALID_VALUE;
    if (naiad_x > naiad_most || naiad_y > naiad_most || naiad_z > naiad_most)
        return NAIAD_INVALID_VALUE;
    if (naiad_x && naiad_y && naiad_z > (INT64_C(1) << 62) / (naiad_x * naiad_y))
        return NAIAD_INVALID_VALUE;
    if (!__atomic_load_n(&naiad_ready, __ATOMIC_RELAXED)) {{
        if (load_{name}() != NAIAD_OK)
            return NAIAD_UNSUPPORTED_CPU;
        __atomic_store_n(&naiad_ready, 1, __ATOMIC_RELAXED);
    }}
    memset(naiad_slots, 0, sizeof naiad_slots);
    naiad_slots[0] = naiad_x, naiad_slots[1] = naiad_y, naiad_slots[2] = naiad_z;
    naiad_slots[3] = (int64_t)(intptr_t)&naiad_status;
{fills}    {pool_name}_run({symbol}, naiad_slots, naiad_x * naiad_y * naiad_z, {cost:.1f}, threads);
    return (int)naiad_status;
}}
"""
TILES = """\
    if (syscall(158, 0x1023, 18)) /* the system gives a process the registers of AMX when it asks */
        return NAIAD_UNSUPPORTED_CPU;
"""
TOLD = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "fma", "bmi", "bmi2", "avx512f", "avx512bw",
        "avx512cd", "avx512dq", "avx512vl", "avx512vbmi", "avx512ifma", "avx512vpopcntdq", "avx512vnni",
        "avx512bf16")  # fmt: skip
"""The features that __builtin_cpu_supports of gcc 10 and clang 10 knows."""


def header(program: Program) -> str:
    """The text of the header."""
    return HEADER.format(status=STATUS, **program.declared("cpu", FIRST))


def source(program: Program, cpu: HostCPU, uses_tiles: bool, asserts: Sequence[str], cost: float) -> str:
    """The text of the launcher."""
    passed = program.passed
    functions, converted = conversions(passed)
    fills = "".join(f"    memcpy(&naiad_slots[{4 + i}], &{item.variable}, sizeof {item.variable});\n"
                    for i, item in enumerate(passed))  # fmt: skip
    x, y, z = program.grid
    return SOURCE.format(
        title=program.title, name=program.name, symbol=program.symbol, includes=POOL_INCLUDES, status=STATUS,
        pool=pool_text(), pool_name=pool_name(), functions=functions, check=check_text(cpu, uses_tiles),
        messages=messages_text(asserts), signature=prototype(FIRST, passed), count=4 + len(passed),
        unsupported=quoted(f"this CPU has not all that the kernel was compiled for ({cpu.name})"),
        constants=constants_text(program.entries, program.grid), converted=converted, fills=fills,
        x=x, y=y, z=z, cost=cost,
    )  # fmt: skip


def check_text(cpu: HostCPU, uses_tiles: bool) -> str:
    """Lines that return NAIAD_UNSUPPORTED_CPU where the machine lacks what the code uses."""
    wanted = [name for name in TOLD if name in cpu.features] if cpu.is_x86 else []
    lines = [f'    if (!__builtin_cpu_supports("{name}"))\n        return NAIAD_UNSUPPORTED_CPU;\n' for name in wanted]
    return "".join(lines) + (TILES if uses_tiles else "")


def messages_text(asserts: Iterable[str]) -> str:
    """Lines that return the message of a device_assert for its number."""
    texts = [f"        {quoted(f'device-side assert triggered: {message}')},\n" for message in asserts]
    if not texts:
        return ""
    return (f"    static const char *const messages[] = {{\n{''.join(texts)}    }};\n"
            f"    if (status > 0 && status <= {len(texts)})\n        return messages[status - 1];\n")  # fmt: skip


def quoted(text: str) -> str:
    """A string literal of C."""
    plain = {"\n": "\\n", '"': '\\"', "\\": "\\\\"}
    letters = (plain.get(c, c) if " " <= c <= "~" or c in plain else "".join(f"\\{b:03o}" for b in c.encode())
               for c in text)  # fmt: skip
    return f'"{"".join(letters)}"'
