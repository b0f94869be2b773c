"""Functions of libdevice are linked into the PTX, with all that they ask of the code generator."""

import pytest

import naiad
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.backends.nvidia.tools import find_libdevice
from naiad.compiler.compiler import ASTSource
from naiad.language.extra import libdevice

pytestmark = pytest.mark.skipif(find_libdevice() is None, reason="libdevice.10.bc is not installed")


@naiad.jit
def functions(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.tanh(v) + libdevice.rsqrt(v) + libdevice.erf(v) + libdevice.pow(v, v))


@pytest.mark.parametrize("arch", [80, 90])
def test_nothing_is_left_to_be_called(arch):
    source = ASTSource(functions, {"x": "*fp32", "out": "*fp32", "B": "constexpr"}, {"B": 128})
    ptx = naiad.compile(source, target=GPUTarget("cuda", arch, 32)).asm["ptx"]
    assert ".entry functions" in ptx and ".extern" not in ptx and "reflect" not in ptx and "__nv_" not in ptx
