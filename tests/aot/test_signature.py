"""Signatures and grids: what entries mean, the names that follow, and what is said of mistakes."""

import hashlib
import json
from typing import Any

import pytest

import naiad.language as tl
from naiad import aot
from naiad.aot.grid import parse_grid
from naiad.aot.kernel import kernel_of, parse_target
from naiad.aot.signature import Signature, parse_signature, split
from naiad.backends.base import GPUTarget
from naiad.runtime.autotuner import Config, autotune

from . import kernels

MATMUL = "*fp32:16, *kfp16, *fp16:16, i32, i32:16, i64:1, i32, i32, i32:1, 16, 32, 16"


def parsed(fn: Any, signature: Any, **constants: Any) -> Signature:
    return parse_signature(fn, signature, constants, "warps1xstages3")


def test_entries() -> None:
    entries = parsed(kernels.matmul, MATMUL).entries
    assert [entry.kind for entry in entries[:6]] == ["*fp32", "*kfp16", "*fp16", "i32", "i32", "i64"]
    assert [entry.hint for entry in entries] == [16, None, 16, None, 16, 1, None, None, 1, None, None, None]
    assert [entry.value for entry in entries[9:]] == [16, 32, 16]
    assert [entry.name for entry in entries] == kernels.matmul.arg_names


def test_what_is_compiled() -> None:
    signature = parsed(kernels.matmul, MATMUL)
    assert signature.types["K"] == "i64"
    assert signature.constants == {(5,): 1, (8,): 1, (9,): 16, (10,): 32, (11,): 16}
    assert signature.attributes == {(i,): [["tt.divisibility", 16]] for i in (0, 2, 4)}


def test_names_are_as_tritons() -> None:
    signature = parsed(kernels.matmul, MATMUL)
    text = " ".join([*(word.strip() for word in MATMUL.split(",")), "warps1xstages3"])
    assert signature.hash == hashlib.sha256(text.encode()).hexdigest()[:8]
    assert signature.suffix == "0d12d34d5c678c91011"
    assert signature.algorithm == "16x32x16_warps1xstages3"


def test_hints_do_not_change_the_algorithm() -> None:
    """What is 1 is a hint: Triton's names hold it as a constant, and its dispatcher then does not look at it."""
    general, special = (parsed(kernels.add, f"*fp32, *fp32, *fp32, i32{hint}, 64") for hint in ("", ":1"))
    assert general.algorithm == special.algorithm and general.hash != special.hash


@pytest.mark.parametrize(
    ("text", "value", "word"),
    [("1024", 1024, "1024"), ("-2", -2, "m2"), ("0.5", 0.5, "0p5"), ("True", True, "True"), ("None", None, "None"),
     ("'a, b'", "a, b", "a__b"), ('"x"', "x", "x"), ("tl.float16", tl.float16, "fp16")],
)  # fmt: skip
def test_constants(text: str, value: Any, word: str) -> None:
    signature = parsed(kernels.add, f"*fp32, *fp32, *fp32, i32, {text}")
    assert signature.entries[4].value == value and type(signature.entries[4].value) is type(value)
    assert signature.algorithm == f"{word}_warps1xstages3"


def test_other_forms_of_a_signature() -> None:
    expected = parsed(kernels.add, "*fp32:16, *fp32, *fp32, i32, 64")
    types = ["*fp32:16", "*fp32", "*fp32", "i32"]
    assert parsed(kernels.add, [*types, 64]) == expected
    assert parsed(kernels.add, types, BLOCK=64) == expected
    assert parsed(kernels.add, dict(zip(kernels.add.arg_names, types, strict=False)), BLOCK=64) == expected
    assert parsed(kernels.add, ", ".join(types), BLOCK=64) == expected


def test_split() -> None:
    assert split("tensordesc<fp16[64, 64]>, (a, b), 'x, y'") == ["tensordesc<fp16[64, 64]>", "(a, b)", "'x, y'"]
    assert split(" ") == []


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*fp32, *fp32, *fp32, i32", "no value for parameter 4 (BLOCK) of add"),
        ("*fp32, *fp32", "no type for parameter 2 (out) of add"),
        ("*fp32, *fp32, *fp32, i32, 64, 64", "the signature has 6 entries, and add has 5 parameters"),
        ("*fp32, *fp32, *fp32, int, 64", "entry 3 of the signature (n): 'int' is no type"),
        ("*fp33, *fp32, *fp32, i32, 64", "entry 0 of the signature (x): '*fp33' is no type"),
        ("*fp32:8, *fp32, *fp32, i32, 64", "entry 0 of the signature (x): '8' is not a hint"),
        ("*fp32:1, *fp32, *fp32, i32, 64", "an argument of type *fp32 cannot be specialised by :1"),
        ("*fp32, *fp32, *fp32, fp32:16, 64", "an argument of type fp32 cannot be specialised by :16"),
        (
            "*fp32, *fp32, *fp32, i32, i32",
            "entry 4 of the signature (BLOCK): BLOCK is a constexpr, which needs a value",
        ),
        ({"x": "*fp32", "z": "i32"}, "add has no parameter 'z'"),
    ],
)
def test_mistakes(signature: Any, message: str) -> None:
    with pytest.raises(aot.SignatureError) as caught:
        parsed(kernels.add, signature)
    assert message in str(caught.value)


def test_a_mistake_says_what_to_write() -> None:
    with pytest.raises(aot.SignatureError) as caught:
        parsed(kernels.add, "*fp32, *fp32, *fp32, i32:32, 64")
    assert str(caught.value).splitlines() == [
        "entry 3 of the signature (n): '32' is not a hint",
        "expected: :16 (divisible by 16) or :1 (equal to 1)",
    ]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("", "a grid is one to three sizes"),
        ("1, 2, 3, 4", "a grid is one to three sizes"),
        ("m", "the grid names 'm', which is no argument of the launcher"),
        ("n // 2", "where // begins a comment"),
        ("(n", "is no expression in C"),
        ("1; exit(1)", "is no expression in C"),
    ],
)
def test_mistakes_in_grids(grid: str, message: str) -> None:
    with pytest.raises(aot.SignatureError) as caught:
        parse_grid(grid, parsed(kernels.add, "*fp32, *fp32, *fp32, i32, 64").entries, [])
    assert message in str(caught.value)


def test_targets() -> None:
    assert parse_target("cuda:90:32") == parse_target("cuda:90") == GPUTarget("cuda", 90, 32)
    assert parse_target("cpu:x86-64-v3") == GPUTarget("cpu", "x86-64-v3", 1)
    assert parse_target("cpu") == parse_target("cpu:native") == GPUTarget("cpu", "", 1)
    for text in ("cuda", "cuda:sm_90", "cuda:90:64", "hip:gfx942:64", "cpu:pentium"):
        with pytest.raises(aot.AotError, match=r"is no (target|CPU)"):
            parse_target(text)


def test_what_is_no_kernel() -> None:
    with pytest.raises(aot.AotError, match="expected: a @jit function"):
        aot.compile(len, "i32", target="cpu")
    with pytest.raises(aot.AotError, match="cannot be part of a name in C"):
        aot.compile(kernels.empty, "", target="cpu", out_name="my-kernel")
    with pytest.raises(aot.AotError, match=r"enable_fusion .* neither a parameter of empty\(\) nor an option"):
        aot.compile(kernels.empty, "", target="cpu", enable_fusion=False)


def test_autotuners_are_looked_through() -> None:
    assert kernel_of(autotune([Config({"BLOCK": 64})], key=[])(kernels.add)) is kernels.add


def test_the_lines_for_linkers() -> None:
    made = aot.compile(kernels.add, "*fp32:16, *fp32, *fp32, i32:1, 64", target="cpu", num_warps=1)
    lines = made.header.splitlines()
    [place] = [i for i, line in enumerate(lines) if line.startswith("// tt-linker:")]
    signature = "float *x, float *y, float *out, int32_t n"
    assert lines[place] == f"// tt-linker: {made.name}:{signature}:64_warps1xstages3"
    facts = json.loads(lines[place + 1].removeprefix("// naiad-linker: "))
    assert facts == {
        "backend": "cpu",
        "hints": [16, None, None, 1],
        "types": ["*fp32"] * 3 + ["i32"],
        "constants": ["64"],
    }
