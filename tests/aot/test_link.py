"""The dispatcher: which variant a call takes, by launchers that only say who they are."""

import ctypes
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from naiad import aot
from naiad.aot.linker import Variant, read_variants

from . import kernels
from .build import library

CUDA_H = Path(__file__).parent


def header(
    name: str, hints: Sequence[int | None], algorithm: str = "64_warps1xstages3", backend: str = "cpu",
    types: str = "float *x, int32_t n, int64_t m",
) -> str:  # fmt: skip
    words = ", ".join("null" if hint is None else str(hint) for hint in hints)
    facts = f'{{"backend": "{backend}", "hints": [{words}]}}'
    return f"// tt-linker: {name}:{types}:{algorithm}\n// naiad-linker: {facts}\n"


def stubs(variants: Sequence[Variant]) -> str:
    """Launchers that give their number, and loaders that fail with it from the third one on."""
    text = "#include <stdint.h>\n"
    for number, variant in enumerate(variants):
        taken = ", ".join(["int threads", *(p.text for p in variant.parameters if p.hint != 1)])
        text += f"int {variant.name}({taken}) {{ return 100 + {number}; }}\n"
        text += f"int load_{variant.name}(void) {{ return {number} < 2 ? 0 : {number}; }}\n"
        text += f"void unload_{variant.name}(void) {{}}\n"
        text += f'const char *{variant.name}_error(int status) {{ return "of {number}"; }}\n'
    return text


def built(folder: Path, headers: Sequence[str], prefix: str = "") -> ctypes.CDLL:
    files = aot.link(headers, prefix).write(folder / "linked")
    (folder / "stubs.c").write_text(stubs([variant for text in headers for variant in read_variants(text)]))
    return library(folder / "linked.so", files[1], folder / "stubs.c")


HINTS = [(None, None, None), (16, None, None), (16, 16, None), (16, 16, 1), (None, 1, None)]


def test_the_variant_that_asks_most_and_fits(tmp_path: Path) -> None:
    headers = [header(f"k_0000000{i}_012", hints) for i, hints in enumerate(HINTS)]
    shared = built(tmp_path, headers)
    for x, n, m in itertools.product((0, 8, 16, 4096), (0, 1, 3, 16, -32), (0, 1, 16)):
        said = shared.k_default(0, ctypes.c_void_p(x), n, ctypes.c_int64(m)) - 100
        fits = [all(h is None or (v == 1 if h == 1 else v % h == 0) for v, h in zip((x, n, m), hints, strict=True))
                for hints in HINTS]  # fmt: skip
        asked = [sum(hint is not None for hint in hints) for hints in HINTS]
        assert fits[said] and asked[said] == max(a for a, fit in zip(asked, fits, strict=True) if fit), (x, n, m)


def test_no_variant_fits(tmp_path: Path) -> None:
    shared = built(tmp_path, [header("k_00000000_0d12", (16, None, None)), header("k_00000001_01c2", (None, 1, None))])
    assert shared.k_default(0, ctypes.c_void_p(8), 3, ctypes.c_int64(1)) == -1
    shared.k_error.restype = ctypes.c_char_p
    assert b"no algorithm or variant fits" in shared.k_error(-1)
    assert shared.k_default(0, ctypes.c_void_p(8), 1, ctypes.c_int64(1)) == 101
    assert shared.k_error(101) == b"of 1"


def test_algorithms_have_numbers(tmp_path: Path) -> None:
    none = (None, None, None)
    headers = [header("my_k_00000000_012", none, "64_w"), header("my_k_00000001_012", none, "128_w")]
    shared = built(tmp_path, headers, prefix="lib_")
    assert shared.lib_my_k_get_num_algos() == 2
    call = (0, None, 3, ctypes.c_int64(3))
    assert [shared.lib_my_k(*call, algorithm) for algorithm in (0, 1, 2, -1)] == [100, 101, -1, -1]
    assert shared.lib_my_k_64_w(*call) == shared.lib_my_k_default(*call) == 100
    assert shared.lib_my_k_128_w(*call) == 101
    assert shared.load_lib_my_k() == 0


def test_load_gives_the_first_failure(tmp_path: Path) -> None:
    hints = [(None, None, None), (16, None, None), (16, 16, None), (16, 16, 16)]
    shared = built(tmp_path, [header(f"k_0000000{i}_012", h) for i, h in enumerate(hints)])
    assert shared.load_k() == 3
    shared.unload_k()


def test_kernels_without_arguments(tmp_path: Path) -> None:
    shared = built(tmp_path, [header("k_00000000_0", (), types="")])
    assert shared.k_default(0) == 100


NONE = (None, None, None)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (["int x;"], "no header has a kernel"),
        ([header("k_00000000_0", NONE), header("q_00000000_0", NONE)], "headers of two kernels: k and q"),
        ([header("k_00000000_0", NONE), header("k_00000001_0", NONE, backend="cuda")], "for cpu and for cuda"),
        ([header("k_00000000_0", NONE), header("k_00000001_0", NONE)], "nothing tells k_00000001_0 from k_00000000_0"),
        ([header("double_00000000_0", NONE)], "'double' cannot be the name of a function in C"),
        ([header("k", NONE)], "'k' is not the name of a compiled kernel"),
        (["// tt-linker: k_00000000_0:int32_t n:a\n"], "was not written by naiad"),
        ([header("k_00000000_0", (None,))], "do not agree"),
        ([header("k_00000000_0", (None,), types="int")], "'int' in the header of k_00000000_0 is no parameter"),
        (
            [header("k_00000000_0", (None,), types="int n"), header("k_00000001_0", (16,), types="long n")],
            "Mismatched signature for kernel k\nexpected: int n\nfound:    long n",
        ),
    ],
)
def test_mistakes(headers: list[str], message: str) -> None:
    with pytest.raises(aot.LinkerError) as caught:
        aot.link(headers)
    assert message in str(caught.value)


def test_types_that_are_the_same_in_c() -> None:
    """Halves and bfloat16 are uint16_t there, and on a GPU all pointers are alike: the alignment would choose."""
    headers = [
        aot.compile(kernels.add, f"{left}, *fp16, *fp16, i32, 64", target="cpu:x86-64").header
        for left in ("*fp16:16", "*bf16")
    ]
    with pytest.raises(aot.LinkerError, match=r"(?s)Mismatched.*: \*fp16, \*fp16.*: +\*bf16, \*fp16"):
        aot.link(headers)


def test_constants_that_are_the_same_word() -> None:
    """1 and "1": other code, so other names, which the alignment of an argument must not choose."""
    made = [
        aot.compile(kernels.chosen, types, constants={"MODE": mode}, target="cpu:x86-64")
        for types, mode in (("*i32:16", 1), ("*i32:16", "1"), ("*i32", "1"))
    ]
    assert made[0].name != made[1].name
    assert aot.link([item.header for item in made[1:]]).algorithms == ("chosen_1_warps4xstages3",)
    with pytest.raises(aot.LinkerError, match=r"(?s)have other constants.*expected: 1\n.*: +'1'"):
        aot.link([made[0].header, made[2].header])


def test_options_tell_algorithms_apart() -> None:
    made = [
        aot.compile(kernels.add, f"{x}, *fp32, *fp32, i32, 64", target="cpu:x86-64", enable_fp_fusion=fusion)
        for x, fusion in (("*fp32:16", True), ("*fp32:16", False), ("*fp32", False))
    ]
    assert made[0].name != made[1].name
    start = "add_64_warps4xstages3"
    assert aot.link([item.header for item in made]).algorithms == (start, f"{start}xenable_fp_fusionFalse")
