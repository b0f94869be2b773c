"""The C of a dispatcher: for each algorithm a function that chooses the variant, and one that chooses the algorithm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from naiad.aot import cpu, cuda

if TYPE_CHECKING:
    from naiad.aot.linker import Parameter, Variant

__all__ = ["STYLES", "Style", "header", "source"]


@dataclass(frozen=True)
class Style:
    """How launchers of a backend look: the type of a result, the first parameter and its name, and some results."""

    includes: str
    result: str
    first: str
    argument: str
    success: str
    invalid: str
    unload_result: str
    has_messages: bool = False


STYLES = {
    "cuda": Style("#include <cuda.h>\n#include <stdint.h>\n", "CUresult", cuda.FIRST, "stream", "CUDA_SUCCESS",
                  "CUDA_ERROR_INVALID_VALUE", "CUresult"),
    "cpu": Style(f"#include <stdint.h>\n{cpu.STATUS}", "int", cpu.FIRST, "threads", "NAIAD_OK", "NAIAD_INVALID_VALUE",
                 "void", True),
}  # fmt: skip
Algorithms = Mapping[str, "Sequence[Variant]"]

HEADER = """\
#ifndef {name}_LINKED_H
#define {name}_LINKED_H
{includes}#ifdef __cplusplus
extern "C" {{
#endif
{algorithms}
/* How many algorithms there are: they are numbered from 0 as above. */
int {name}_get_num_algos(void);
/* The first algorithm. */
{result} {name}_default({signature});
/* The algorithm of a number. {invalid}: there is none of that number, or none of its variants fits the arguments. */
{result} {name}({signature}, int algo_id);
{result} load_{name}(void);
{unload} unload_{name}(void);
{messages}#ifdef __cplusplus
}}
#endif
#endif
"""
ALGORITHM_HEADER = """\
{result} {name}({signature});
{result} load_{name}(void);
{unload} unload_{name}(void);
"""
MESSAGES_HEADER = """\
/* What a status means that the last launch of this thread gave. */
const char *{name}_error(int status);
"""
CHOICE = """\
static {result} (*const {name}_kernels[])({signature}) = {{
{algorithms}}};

int {name}_get_num_algos(void)
{{
    return (int)(sizeof {name}_kernels / sizeof {name}_kernels[0]);
}}

{result} {name}({signature}, int algo_id)
{{
    if (algo_id < 0 || algo_id >= {name}_get_num_algos())
        return {invalid};
    return {name}_kernels[algo_id]({passed});
}}

{result} {name}_default({signature})
{{
    return {name}_kernels[0]({passed});
}}
"""
MESSAGES = """
static __thread const char *(*naiad_messages)(int status);

const char *{name}_error(int status)
{{
    if (status == {invalid} || !naiad_messages)
        return status ? "no algorithm or variant fits the arguments, or the grid is too large" : "no error";
    return naiad_messages(status);
}}
"""


def header(name: str, algorithms: Algorithms, style: Style) -> str:
    """The text of the header."""
    signature = _signature(algorithms, style)
    parts = [
        ALGORITHM_HEADER.format(result=style.result, name=algorithm, signature=signature, unload=style.unload_result)
        for algorithm in algorithms
    ]
    return HEADER.format(
        name=name, includes=style.includes, algorithms="".join(parts), result=style.result, signature=signature,
        invalid=style.invalid, unload=style.unload_result,
        messages=MESSAGES_HEADER.format(name=name) if style.has_messages else "",
    )  # fmt: skip


def source(name: str, algorithms: Algorithms, style: Style) -> str:
    """The text of the source."""
    signature = _signature(algorithms, style)
    variants = [variant for members in algorithms.values() for variant in members]
    passed = ", ".join([style.argument, *(p.name for p in variants[0].parameters)])
    rows = "".join(f"    {algorithm},\n" for algorithm in algorithms)
    parts = [style.includes, *(_declarations(variant, style) for variant in variants)]
    if style.has_messages:
        parts.append(MESSAGES.format(name=name, invalid=style.invalid))
    parts += [_algorithm(algorithm, members, signature, style) for algorithm, members in algorithms.items()]
    parts.append("\n" + CHOICE.format(result=style.result, name=name, signature=signature, algorithms=rows,
                                      invalid=style.invalid, passed=passed))  # fmt: skip
    parts.append(_load(name, list(algorithms), style) + _unload(name, list(algorithms), style))
    return "".join(parts)


def _signature(algorithms: Algorithms, style: Style) -> str:
    first = next(iter(algorithms.values()))[0]
    return ", ".join([style.first, *(parameter.text for parameter in first.parameters)])


def _declarations(variant: "Variant", style: Style) -> str:
    """What the source of a variant defines."""
    taken = ", ".join([style.first, *(p.text for p in variant.parameters if p.hint != 1)])
    text = f"{style.result} {variant.name}({taken});\n{style.result} load_{variant.name}(void);\n"
    text += f"{style.unload_result} unload_{variant.name}(void);\n"
    return text + (f"const char *{variant.name}_error(int status);\n" if style.has_messages else "")


def _algorithm(name: str, members: "Sequence[Variant]", signature: str, style: Style) -> str:
    """The function that tries the variants, those that ask most of the arguments first."""
    lines = [f"\n{style.result} {name}({signature})\n{{\n"]
    for variant in members:
        tests = " && ".join(filter(None, map(condition, variant.parameters))) or "1"
        passed = ", ".join([style.argument, *(p.name for p in variant.parameters if p.hint != 1)])
        call = f"return {variant.name}({passed});\n"
        if style.has_messages:
            call = f"naiad_messages = {variant.name}_error;\n        {call}"
        lines.append(f"    if ({tests}) {{\n        {call}    }}\n")
    lines.append(f"    return {style.invalid};\n}}\n")
    names = [variant.name for variant in members]
    return "".join(lines) + _load(name, names, style) + _unload(name, names, style)


def condition(parameter: "Parameter") -> str:
    """The test in C that an argument is what a variant was specialised for; empty if it was not."""
    if parameter.hint is None:
        return ""
    if parameter.hint == 1:
        return f"({parameter.name} == 1)"
    value = f"(uintptr_t){parameter.name}" if parameter.type.endswith("*") else parameter.name
    return f"({value} % {parameter.hint} == 0)"


def _load(name: str, parts: Sequence[str], style: Style) -> str:
    """Loads all; where one fails, gives its result."""
    lines = [f"    if (result == {style.success})\n        result = load_{part}();\n" for part in parts]
    return (f"\n{style.result} load_{name}(void)\n{{\n    {style.result} result = {style.success};\n"
            f"{''.join(lines)}    return result;\n}}\n")  # fmt: skip


def _unload(name: str, parts: Sequence[str], style: Style) -> str:
    """Unloads all; gives the last result that is not success."""
    if style.unload_result == "void":
        return f"\nvoid unload_{name}(void)\n{{\n" + "".join(f"    unload_{part}();\n" for part in parts) + "}\n"
    lines = [f"    part = unload_{part}();\n    result = part == {style.success} ? result : part;\n" for part in parts]
    return (f"\n{style.unload_result} unload_{name}(void)\n{{\n    {style.result} part, result = {style.success};\n"
            f"{''.join(lines)}    return result;\n}}\n")  # fmt: skip
