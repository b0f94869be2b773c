"""What Inductor's compile workers do: kernels travel between processes, and `triton` is naiad on both sides."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

import naiad as triton
import naiad.language as tl
from naiad.compat import standin
from naiad.compiler import ASTSource, CompiledKernel
from naiad.compiler import compile as compile_kernel

ROOT = str(Path(__file__).parent.parent.parent)
SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def make_kernel():
    @triton.jit
    def twice(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)

    return twice


def sent(kernel):
    """A compiled kernel after the steps that torch takes: what does not pickle is taken out, the rest is a dict."""
    fn = kernel.src.fn
    fn.fn = fn.__globals__ = fn.used_global_vals = fn._hash_lock = None
    fn.repr = str
    state = {**kernel.__dict__, "module": None, "function": None, "run": None}
    made = CompiledKernel.__new__(CompiledKernel)
    made.__dict__.update(pickle.loads(pickle.dumps(state)))
    return made


def test_a_kernel_that_was_sent_runs():
    for _ in range(2):  # compiled, and from the cache
        kernel = sent(compile_kernel(ASTSource(make_kernel(), SIGNATURE, {"BLOCK": 64})))
        assert kernel.src.fn.arg_names == ["x", "out", "n", "BLOCK"]
        assert kernel.src.fn.constexprs == [3]
        assert {"llir", "obj"} <= set(kernel.asm)
        x, out = np.arange(100, dtype=np.float32), np.full(100, np.nan, np.float32)
        kernel[(2,)](x, out, 100)
        np.testing.assert_array_equal(out, x * 2)


def test_a_process_that_gets_sys_path_gets_the_drop_in():
    code = "import triton.language, triton; print(triton.jit.__module__, triton.language.__name__)"
    path = os.pathsep.join([standin.HERE, ROOT])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout.split() == ["naiad.runtime.jit", "naiad.language"], done.stderr


def test_sys_path_is_as_before_without_the_drop_in():
    code = (
        "import sys, naiad.compat as c; before = [*sys.path]; c.install(); c.install(); assert sys.path != before;"
        "c.uninstall(); assert sys.path == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": ROOT})
