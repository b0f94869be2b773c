"""Programs of several CTAs (num_ctas > 1) compute what those of one do: kernels of `test_kernels` as clusters."""

from collections.abc import Callable

import numpy as np
import pytest

import naiad as triton
import naiad.language as tl
from naiad.backends.base import GPUTarget
from naiad.backends.nvidia.compiler import NvidiaBackend

from . import test_kernels as tests
from .harness import compiled, run
from .kernels import softmax, vector_add

CASES: dict[str, Callable[[], None]] = {
    "vector_add": lambda: tests.test_vector_add(3001, 1),
    "softmax": lambda: tests.test_softmax(3000, 4096, 4),
    "softmax of few": lambda: tests.test_softmax(33, 64, 1),
    "layer_norm": lambda: tests.test_layer_norm(),
    "matmul by mma": lambda: tests.test_matmul(np.float32, 4, 3, 90),
    "matmul by wgmma": lambda: tests.test_matmul(np.float16, 4, 3, 90),
    "matmul, transposed": lambda: tests.test_matmul_with_transposed_operands(90, (128, 32, 64)),
    "operands computed": lambda: tests.test_matmul_of_operands_computed_in_the_loop(90),
    "multiply and add": lambda: tests.test_dot(np.float32, np.float32, "ieee", 1e-6, (32, 64, 32)),
    "attention": lambda: tests.test_attention(90),
    "transpose": lambda: tests.test_transpose(np.float32),
    "sort": lambda: tests.test_sort(np.float32, 1024, 4, False),
    "sort of few": lambda: tests.test_sort(np.int64, 64, 1, True),
    "scan down": lambda: tests.test_scan(0, False, (128, 8)),
    "scan across": lambda: tests.test_scan(1, True, (2, 512)),
    "scan of many": lambda: tests.test_scan(1, False, (1, 4096)),
    "reduce down": lambda: tests.test_reduce(0, (128, 8), np.float32),
    "reduce across": lambda: tests.test_reduce(1, (32, 64), np.int32),
    "histogram": lambda: tests.test_histogram(),
    "gather": lambda: tests.test_gather(),
    "atomics": lambda: tests.test_atomics(),
    "join and split": lambda: tests.test_join_and_split(),
    "while": lambda: tests.test_while_and_if(),
}


@pytest.mark.parametrize("name", list(CASES))
def test_clusters_compute_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ctas = 2 if len(name) % 2 else 4
    monkeypatch.setattr(tests, "run", lambda *a, **k: run(*a, **{**k, "arch": 90, "num_ctas": ctas}))
    CASES[name]()


@triton.jit
def ranks(o_ptr, count_ptr):
    tl.atomic_add(o_ptr + tl.program_id(0), 1)
    old = tl.atomic_add(count_ptr, 1)
    tl.store(o_ptr + 8 + old, tl.num_programs(0))


def test_a_cluster_is_one_program() -> None:
    out, count = np.zeros(16, np.int32), np.zeros(1, np.int32)
    run(ranks, (3,), out, count, arch=90, num_ctas=4)
    np.testing.assert_array_equal(out, [1, 1, 1, 0, 0, 0, 0, 0, 3, 3, 3, 0, 0, 0, 0, 0])
    assert count[0] == 3


def test_ctas_share_what_is_large_enough() -> None:
    """Rows of 4096 are dealt to two CTAs, which meet in the first one's memory; the sum of two vectors needs none."""
    x = np.zeros(4096, np.float32)
    made = compiled(softmax, dict(x_ptr=x, o_ptr=x, stride=4096, n=4096), dict(BLOCK=4096), 90, num_ctas=2)
    assert "CGALayout = [[1]]" in made.asm["ttgir"].split("\n\n")[0]
    assert "st.shared::cluster" in made.asm["ptx"] and "barrier.cluster.wait" in made.asm["ptx"]
    plain = compiled(vector_add, dict(x_ptr=x, y_ptr=x, o_ptr=x, n=4096), dict(BLOCK=4096), 90, num_ctas=2)
    assert "barrier" not in plain.asm["ptx"] and "%cluster_ctarank" in plain.asm["ptx"]


@pytest.mark.parametrize(("arch", "ctas", "message"), [(80, 2, "num_ctas > 1 requires NVIDIA SM90"),
                                                       (90, 3, "num_ctas must be one of")])  # fmt: skip
def test_what_cannot_be_a_cluster(arch: int, ctas: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NvidiaBackend(GPUTarget("cuda", arch, 32)).parse_options({"num_ctas": ctas})
