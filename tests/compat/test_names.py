"""What public packages use of Triton, counted in 24 of them and in torch, is there: names, keywords, attributes."""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.runtime.keywords import LAUNCH_OPTIONS
from tests.compat.dropin import installed

HERE = Path(__file__).parent


def table(file: str) -> dict[str, list[str]]:
    """The lines `module: name name`, which go on in indented ones. A name that stands twice counts once."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in (HERE / file).read_text().splitlines():
        head, colon, rest = line.partition(": ")
        if line.startswith("  "):
            names += line.split()
        elif colon and not line.startswith(("#", "=")):
            names = found.setdefault(head, [])
            names += rest.split()
    return found


@pytest.fixture(autouse=True, scope="module")
def dropin() -> Iterator[None]:
    with installed():
        yield


def resolve(module: str, name: str) -> Any:
    """`module.name`, with dots in the name; the module itself may be an attribute of its package."""
    package, _, last = module.rpartition(".")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        if not package:
            raise
        found = getattr(importlib.import_module(package), last)
        for part in name.split("."):
            found = getattr(found, part)
    return found


@pytest.mark.parametrize("module", table("names.txt"))
def test_names_are_there(module: str) -> None:
    if module == "triton.tools.mxfp":
        pytest.importorskip("torch", reason=f"{module} is made of torch's tensors")
    for name in table("names.txt")[module]:
        resolve(module, name)


@pytest.mark.parametrize("module", table("absent.txt"))
def test_names_without_a_meaning_are_said_to_be_missing(module: str) -> None:
    for name in table("absent.txt")[module]:
        first = name.split(".")[0]
        with pytest.raises((AttributeError, ImportError)) as raised:
            resolve(module, name)
        assert any(part in str(raised.value) for part in (first, name.split(".")[-1])), (name, str(raised.value))


def test_no_table_contradicts_another() -> None:
    there, absent = table("names.txt"), table("absent.txt")
    assert not [(m, n) for m, names in absent.items() for n in names if n in there.get(m, [])]


@pytest.mark.parametrize("function", table("keywords.txt"))
def test_keywords_are_taken(function: str) -> None:
    found = resolve(*function.rsplit(".", 1))
    names = getattr(found, "arg_names", None) or list(inspect.signature(found).parameters)
    assert [word for word in table("keywords.txt")[function] if word not in names] == []


OPTIONS = """num_warps num_stages enable_fp_fusion launch_pdl num_ctas waves_per_eu launch_cooperative_grid
    matrix_instr_nonkdim arch"""
TILES = """to dtype shape load store reshape numel T trans broadcast_to cast permute split gather logical_and advance
    cumsum sum logical_or max argmax histogram abs expand_dims item min ravel exp floor"""
TYPES = """primitive_bitwidth is_fp8 is_int_unsigned is_ptr is_floating is_int is_fp64 scalar is_int64 is_uint64 is_bf16
    is_fp16 is_int_signed is_int16 is_int8 is_fp32 is_uint16"""


def test_members_of_tiles_and_types() -> None:
    assert [name for name in OPTIONS.split() if name not in LAUNCH_OPTIONS] == []
    kinds = (tl.tensor, tl.tensor_descriptor)
    assert [name for name in TILES.split() if not any(hasattr(kind, name) for kind in kinds)] == []
    assert [name for name in TYPES.split() if not hasattr(tl.float32, name)] == []
    assert tl.pointer_type(tl.float32).element_ty is tl.float32 and tl.constexpr(3).value == 3


@naiad.jit
def fill(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i, mask=i < n)


def test_what_packages_read_of_a_kernel() -> None:
    function = "fn arg_names params signature src cache_key __globals__ __module__ __name__ device_caches run warmup"
    function += " add_pre_run_hook preload __doc__"
    assert [name for name in function.split() if not hasattr(fill, name)] == []
    assert fill.src.startswith("def fill") and "BLOCK" in inspect.getsource(fill.fn)
    parameter = fill.params[2]
    assert (parameter.name, parameter.num, parameter.is_constexpr) == ("BLOCK", 2, True)
    assert not parameter.do_not_specialize and parameter.default is inspect.Parameter.empty
    out = np.zeros(8, "i4")
    kernel = fill.run(out, 5, BLOCK=8, grid=(1,), warmup=False)
    compiled = "metadata n_regs n_spills asm function packed_metadata run _init_handles kernel name hash src"
    assert [name for name in compiled.split() if not hasattr(kernel, name)] == []
    assert kernel.metadata.shared == 0 and kernel.metadata.num_warps == 4
    out[:] = 0
    kernel[(1, 1, 1)](out, 5, 8)
    assert (out == [0, 1, 2, 3, 4, 0, 0, 0]).all()


def test_what_packages_read_of_a_tuner() -> None:
    configs = [naiad.Config({"BLOCK": block}) for block in (8, 16)]
    tuner = naiad.autotune(configs, key=["n"], do_bench=lambda call, quantiles: [call() or 1.0] * 3)(fill)
    tuner[(1,)](np.zeros(16, "i4"), 8)
    names = (
        "configs best_config prune_configs _bench nargs keys cache pre_hook post_hook base_fn arg_names fn run warmup"
    )
    assert [name for name in names.split() if not hasattr(tuner, name)] == []
    assert tuner.best_config.kwargs == {"BLOCK": 8} and tuner.best_config.all_kwargs()["num_warps"] == 4
    assert naiad.heuristics({"BLOCK": lambda args: 8})(fill).values["BLOCK"]({}) == 8


def test_what_packages_ask_of_the_driver() -> None:
    active = resolve("triton.runtime.driver", "active")
    names = "utils get_current_target get_current_device get_current_stream get_device_interface get_benchmarker"
    assert [name for name in names.split() if not hasattr(active, name)] == []
    target = active.get_current_target()
    assert (target.backend, target.warp_size) == ("cpu", 1) and isinstance(target.arch, str)
