"""PTX for every generation of GPUs, assembled where a ptxas is found; and what the code must look like."""

import re

import ml_dtypes
import numpy as np
import pytest

from naiad.backends.nvidia.target import target_of
from naiad.backends.nvidia.tools import PTXASError, assemble, find_ptxas, ptxas_version

from . import kernels as K
from .harness import compiled

ARCHES = [80, 86, 89, 90, 100, 120]
HALF = np.zeros(16, np.float16)
FLOAT = np.zeros(16, np.float32)
BYTE = np.zeros(16, ml_dtypes.float8_e4m3fn)
CASES = {
    "vector_add": (K.vector_add, {"x_ptr": FLOAT, "y_ptr": FLOAT, "o_ptr": FLOAT, "n": 16}, {"BLOCK": 1024}),
    "softmax": (K.softmax, {"x_ptr": FLOAT, "o_ptr": FLOAT, "stride": 16, "n": 16}, {"BLOCK": 1024}),
    "matmul": (K.matmul, {"a_ptr": HALF, "b_ptr": HALF, "c_ptr": HALF, "M": 64, "N": 64, "K": 64, "sam": 64, "sbk": 64,
                          "scm": 64}, {"sak": 1, "sbn": 1, "scn": 1, "BM": 128, "BN": 128, "BK": 64}),
    "matmul_of_bytes": (K.matmul, {"a_ptr": BYTE, "b_ptr": BYTE, "c_ptr": HALF, "M": 64, "N": 64, "K": 64, "sam": 64,
                                   "sbn": 64, "scm": 64},
                        {"sak": 1, "sbk": 1, "scn": 1, "BM": 64, "BN": 32, "BK": 32}),
    "attention": (K.attention, {"q_ptr": HALF, "k_ptr": HALF, "v_ptr": HALF, "o_ptr": HALF, "scale": 0.5, "n": 64},
                  {"D": 64, "BM": 128, "BN": 64}),
    "sort": (K.sort_rows, {"x_ptr": FLOAT, "o_ptr": FLOAT}, {"BLOCK": 512, "DESCENDING": False}),
    "scan": (K.scan_rows, {"x_ptr": FLOAT, "o_ptr": FLOAT}, {"M": 4, "N": 512, "AXIS": 1, "REVERSE": False}),
    "atomics": (K.atomics, {"x_ptr": FLOAT, "sum_ptr": FLOAT, "max_ptr": np.zeros(1, np.int32),
                            "count_ptr": np.zeros(1, np.int32), "old_ptr": np.zeros(1, np.int32), "n": 64},
                {"BLOCK": 128}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_ptxas_in_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages end with PTX; the tests assemble it themselves, or skip."""
    monkeypatch.setattr("naiad.backends.nvidia.tools.find_ptxas", lambda arch=80: None)


def ptx_of(name: str, arch: int, **options: int) -> str:
    kernel, arguments, constants = CASES[name]
    return compiled(kernel, arguments, constants, arch, **options).asm["ptx"]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", list(CASES))
def test_assembles(name: str, arch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ptx = ptx_of(name, arch)
    assert f".target {target_of(arch).cpu}" in ptx
    monkeypatch.undo()
    if (path := find_ptxas(arch)) is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc, or set TRITON_PTXAS_PATH")
    try:
        _, said = assemble(ptx, target_of(arch))
    except PTXASError as error:
        if "too old" in str(error) or "not defined for option" in str(error):
            pytest.skip(f"ptxas {ptxas_version(path)} does not know sm_{arch}")
        raise
    assert "C75" not in said


def test_memory_is_accessed_in_vectors() -> None:
    ptx = ptx_of("vector_add", 90)
    assert ptx.count("ld.global.v4.b32") == 4 and ptx.count("st.global.v4.b32") == 2


def test_hopper_multiplies_by_warpgroups_and_ampere_by_warps() -> None:
    hopper, ampere = ptx_of("matmul", 90), ptx_of("matmul", 80)
    assert hopper.count("wgmma.mma_async") >= 4 and "mma.sync" not in hopper
    assert "mma.sync.aligned.m16n8k16" in ampere and "ldmatrix" in ampere and "wgmma" not in ampere


def test_8_bit_floats_stay_so_in_shared_memory() -> None:
    kernel, arguments, constants = CASES["matmul_of_bytes"]
    constants = constants | {"BM": 128, "BN": 256, "BK": 128}
    made = compiled(kernel, arguments, constants, 90, num_warps=8, num_stages=3)
    assert re.search(r"wgmma\.mma_async\.sync\.aligned\.m64n256k32\.f32\.e4m3\.e4m3 \{.*\}, %rd\d+, %rd\d+, 1, 1, 1;",
                     made.asm["ptx"]) and "mma.sync" not in made.asm["ptx"]  # fmt: skip
    assert made.metadata.shared == 4 * (128 + 256) * 128, "what is copied ahead, in bytes"


def test_sums_of_8_bit_floats_are_as_precise_as_asked_for() -> None:
    kernel, arguments, constants = CASES["matmul_of_bytes"]
    made = compiled(kernel, arguments, constants, 90, num_warps=8, max_num_imprecise_acc_default=0)
    assert "wgmma" not in made.asm["ptx"] and "mma.sync.aligned.m16n8k32" in made.asm["ptx"]


def test_loads_of_a_matmul_are_copied_ahead() -> None:
    ptx = ptx_of("matmul", 80, num_stages=3)
    assert "cp.async.cg.shared.global" in ptx and re.search(r"cp.async.wait_group\s+2;", ptx)


def test_atomics_are_spelt_as_peers_spell_them() -> None:
    ptx = ptx_of("atomics", 90)
    assert "atom.global.gpu.acq_rel.add.f32" in ptx


@pytest.mark.parametrize("flush", [True, False])
def test_exp2_of_small_numbers_is_flushed_if_that_is_asked_for(flush: bool) -> None:
    arguments, constants = {"x_ptr": FLOAT, "o_ptr": FLOAT, "n": 16}, {"NAME": "exp2", "BLOCK": 128}
    ptx = compiled(K.unary, arguments, constants, 90, enable_reflect_ftz=flush).asm["ptx"]
    assert ("ex2.approx.ftz.f32" in ptx) == flush and ("ex2.approx.f32" in ptx) != flush


def test_lines_of_the_kernel_are_in_the_ptx() -> None:
    assert re.search(r"\.loc\s+1 \d+", ptx_of("vector_add", 80)) and "kernels.py" in ptx_of("vector_add", 80)
