"""NAIAD_DEBUG=recompile says what caused a compilation."""

import importlib
import sys

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs


@pytest.fixture
def said(capsys):
    """The lines since it was last asked, without what they have in common."""
    knobs.naiad.debug = "recompile"

    def lines():
        return [line.removeprefix("naiad: ") for line in capsys.readouterr().err.splitlines()]

    return lines


def aligned(n, kind="f4", shift=0):
    base = np.zeros(8 * n + 128, "u1")
    width = np.dtype(kind).itemsize
    start = -base.ctypes.data % 64 + shift * width
    return base[start : start + n * width].view(kind)


def test_each_part_of_a_specialisation(said):
    @naiad.jit
    def fill(out, n, value, pair, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out + at, value + pair[0], mask=at < n)

    def launch(out=None, n=64, value=3, pair=(1, 2.5), BLOCK=64, **options):
        for _ in range(2):
            fill[(1,)](aligned(64) if out is None else out, n, value, pair, BLOCK=BLOCK, **options)
        return said()

    again = "fill is compiled again: "
    assert launch() == ["fill is compiled for the first time"]
    assert launch() == []
    assert launch(value=2.5) == [again + "value was i32, is fp32"]
    assert launch(n=63) == [again + "n was i32 divisible by 16, is i32"]
    assert launch(n=1) == [again + "n was i32, is the i32 1"]
    assert launch(out=aligned(64, shift=1)) == [again + "out was *fp32 divisible by 16, is *fp32"]
    assert launch(out=aligned(64, "f8")) == [again + "out was *fp32, is *fp64 divisible by 16"]
    assert launch(pair=(1, 2)) == [again + "pair was (the i32 1, fp32), is (the i32 1, i32)"]
    assert launch(BLOCK=128, n=128) == [again + "BLOCK was constexpr 64, is constexpr 128"]
    assert launch(num_warps=8) == [again + "option num_warps was not given, is 8"]
    assert launch(num_warps=2) == [again + "option num_warps was 8, is 2"]
    assert launch(n=63, value=2.5) == [again + "value was i32, is fp32"], "the nearest one before is compared with"
    assert launch(n=63, value=2**40, num_warps=1) == [
        again + "value was fp32, is i64 divisible by 16",
        again + "option num_warps was not given, is 1",
    ]
    fill.device_caches.clear()
    assert launch() == [again + "nothing differs, it was dropped from the cache in memory"]


MODULE = """
import naiad
import naiad.language as tl

FACTOR = tl.constexpr(3)

@naiad.jit
def callee(x):
    return x + 1

@naiad.jit
def edited(out):
    tl.store(out, callee(2) * FACTOR)
"""


def test_edits_of_the_source_of_what_is_called_and_of_globals(said, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(text):
        (tmp_path / "edited_module.py").write_text(text)
        sys.modules.pop("edited_module", None)
        importlib.invalidate_caches()
        importlib.import_module("edited_module").edited[(1,)](aligned(1, "i4"))
        return said()

    again = "edited is compiled again: "
    assert run(MODULE) == ["edited is compiled for the first time"]
    other = MODULE.replace("x + 1", "x + 7")
    assert run(other) == [again + "callee, which it calls, was edited or moved, or reads another global"]
    assert run(other.replace("(3)", "(4)"))[0].startswith(again + "global FACTOR was ")
    body = MODULE.replace("callee(2) *", "callee(5) *")
    assert run(body) == [again + "its source was edited, from line 2 on: tl.store(out, callee(5) * FACTOR)"]
    assert run("\n\n" + body)[0] == again + "line 11 of its file was where it begins, is 13"


@naiad.jit
def doubled(x):
    return 2 * x


@naiad.jit
def halved(x):
    return x / 2


@naiad.jit
def apply(out, function: tl.constexpr):
    tl.store(out, function(8.0))


def test_functions_are_called_so(said):
    for function in (doubled, halved):
        apply[(1,)](aligned(1), function)
    was, is_ = (f"a function ({function.cache_key[:8]})" for function in (doubled, halved))
    assert said()[1:] == [f"apply is compiled again: function was constexpr {was}, is constexpr {is_}"]
