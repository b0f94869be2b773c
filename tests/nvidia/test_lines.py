"""Line tables: `.loc` in the PTX names the line of the kernel, or of the function that it calls."""

import inspect
import re

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl

from . import kernels
from .harness import compiled

F16, F32 = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)
CASES = {
    "vector_add": (dict(x_ptr=F32, y_ptr=F32, o_ptr=F32, n=1000), dict(BLOCK=256)),
    "softmax": (dict(x_ptr=F32, o_ptr=F32, stride=64, n=64), dict(BLOCK=64)),
    "attention": (dict(q_ptr=F16, k_ptr=F16, v_ptr=F16, o_ptr=F16, scale=1.0, n=128), dict(D=64, BM=64, BN=64)),
    "sort_rows": (dict(x_ptr=F32, o_ptr=F32), dict(BLOCK=64, DESCENDING=False)),
    "collatz": (dict(x_ptr=np.zeros(4, np.int32), o_ptr=np.zeros(4, np.int32)), {}),
}


def places(text: str) -> dict[str, list[int]]:
    """File -> the lines that the PTX names, line 0 aside."""
    files = dict(re.findall(r'\.file\s+(\d+) "([^"]+)"', text))
    found: dict[str, list[int]] = {}
    for file, line in re.findall(r"\.loc\s+(\d+) (\d+)", text):
        if line != "0":
            found.setdefault(files[file], []).append(int(line))
    return found


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("arch", [80, 90])
def test_every_access_has_its_line(name: str, arch: int) -> None:
    kernel = getattr(kernels, name)
    text = compiled(kernel, *CASES[name], arch).asm["ptx"]
    source, start = inspect.getsourcelines(kernel.fn)
    [(file, lines)] = places(text).items()
    assert file == inspect.getsourcefile(kernel.fn) and set(lines) <= set(range(start, start + len(source)))
    here = 0
    for line in text.splitlines():
        if found := re.search(r"\.loc\s+\d+ (\d+)", line):
            here = int(found.group(1)) or here
        elif re.search(r"\b(ld|st)\.global", line):
            assert re.search(r"tl\.(load|store)", source[here - start]), f"{line.strip()}: line {here}"


@triton.jit
def twice(x):
    return x + x


@triton.jit
def calls(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(x_ptr + at, twice(x) + tl.sum(x))


def test_a_called_function_has_lines_of_its_own_and_the_library_has_none() -> None:
    text = compiled(calls, dict(x_ptr=np.zeros(256, np.float32)), dict(BLOCK=256)).asm["ptx"]
    [(file, lines)] = places(text).items()
    start = inspect.getsourcelines(twice.fn)[1]
    assert file == __file__ and start + 2 in lines
    assert max(lines) == inspect.getsourcelines(calls.fn)[1] + 4
