"""Passes keep what a program computes: the same memory and results before and after, run op by op on numpy."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from naiad.ir.check import check
from naiad.ir.text import parse, print_module
from naiad.tools.opt import BY_NAME, passes_of
from tests.ir.execute import Heap, Machine

PROGRAMS = Path(__file__).parent / "programs"
RNG = np.random.default_rng(0)

SPECS = [
    *BY_NAME,
    "ttir",
    "ttir-pointers",
    "tt-rewrite-descriptors,tt-combine,tt-uniform-carries,canonicalize,cse,licm,dce",
]


def inputs(name: str) -> list[list]:
    """Arguments of each program's kernel; arrays are put into memory and passed by address."""
    floats = RNG.standard_normal(4096).astype(np.float32)
    many = {
        "carries": [[floats, np.zeros(64, np.float32), n, s] for n in (0, 1, 3) for s in (0, 1, 5)],
        "blocks": [[floats.astype(np.float16)[: m * k], np.zeros((m, k), np.float32), m, k, i, j]
                   for m, k in ((7, 13), (16, 32), (20, 9)) for i, j in ((0, 0), (4, -3), (-5, 8))],
        "descriptors": [[floats[: m * n], np.zeros(8 * 16, np.float32), m, n, i, j]
                        for m, n in ((9, 20), (8, 16)) for i, j in ((0, 0), (3, 7), (-2, -4))],
        "unrolled": [[floats[:64], np.zeros(8, np.float32), n, s] for n in (0, 1, 2, 5, 8, 9, 31) for s in (1, 3)],
        "calls": [[floats[:64], np.zeros(16, np.float32), n] for n in (0, 5, 40)],
        "conditions": [[floats[:512], np.zeros(16, np.float32), n, c] for n in (0, 3, 7) for c in (0, 1)],
    }  # fmt: skip
    return many[name]


@cache
def passed(text: str, spec: str) -> ModuleOp:
    """The program after the passes, each of which leaves a valid one; printed and read again."""
    module = parse(text)
    for p in passes_of(spec):
        p.apply(None, module)
        check(module, "ttir")
    return parse(print_module(module, locations=True))


def run(text: str, arguments: list, spec: str = "") -> tuple[np.ndarray, list]:
    heap = Heap()
    given = [heap.put(a) if isinstance(a, np.ndarray) else a for a in arguments]
    results = Machine(passed(text, spec), heap, program=(1, 0, 0)).call("kernel", *given)
    return heap.data, results


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("program", sorted(p.stem for p in PROGRAMS.glob("*.ttir")))
def test_same_before_and_after(program: str, spec: str) -> None:
    text = (PROGRAMS / f"{program}.ttir").read_text()
    for arguments in inputs(program):
        memory, results = run(*expanded(text, arguments, spec))
        expected_memory, expected = run(*expanded(text, arguments, ""))
        assert memory.tobytes() == expected_memory.tobytes()
        assert [r.tolist() for r in results] == [r.tolist() for r in expected]


def expanded(text: str, arguments: list, spec: str) -> tuple[str, list, str]:
    """Programs with block pointers or descriptors run after they are rewritten; that is tested against numpy below."""
    needs = ("tensordesc" in text or "make_tensor_ptr" in text) and "pointers" not in spec and "descriptors" not in spec
    return text, arguments, f"tt-rewrite-descriptors,{spec}" if needs else spec


def window(a: np.ndarray, i: int, j: int, shape: tuple[int, int], outside: float) -> np.ndarray:
    """The block of `a` at (i, j), with `outside` where it runs over."""
    out = np.full(shape, outside, a.dtype)
    for r, c in np.ndindex(shape):
        if 0 <= i + r < a.shape[0] and 0 <= j + c < a.shape[1]:
            out[r, c] = a[i + r, j + c]
    return out


@pytest.mark.parametrize("spec", ["tt-rewrite-descriptors", "ttir-pointers"])
def test_block_pointers_against_numpy(spec: str) -> None:
    text = (PROGRAMS / "blocks.ttir").read_text()
    for source, out, m, k, i, j in inputs("blocks"):
        module = parse(text)
        for p in passes_of(spec):
            p.apply(None, module)
        heap = Heap()
        at, to = heap.put(source), heap.put(out)
        Machine(module, heap).call("kernel", at, to, m, k, i, j)
        a = source.reshape(m, k)
        total = sum(window(a, i, j + 4 * n, (8, 16), 0.0).astype(np.float32) for n in range(3))
        expected = out.copy()
        for r, c in np.ndindex(8, 16):
            if 0 <= i + r < m and 0 <= j + c < k:
                expected[i + r, j + c] = total[r, c]
        np.testing.assert_allclose(heap.get(to, out), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("spec", ["tt-rewrite-descriptors", "ttir-pointers"])
def test_descriptors_against_numpy(spec: str) -> None:
    text = (PROGRAMS / "descriptors.ttir").read_text()
    for source, out, m, n, i, j in inputs("descriptors"):
        module = parse(text)
        for p in passes_of(spec):
            p.apply(None, module)
        heap = Heap()
        at, to = heap.put(source), heap.put(out)
        Machine(module, heap).call("kernel", at, to, m, n, i, j)
        a = source.reshape(m, n).copy()
        block = window(a, i, j, (8, 16), np.nan)
        rows = np.array([a[r] if 0 <= r < m else np.full(n, np.nan) for r in (i + np.arange(8)) * 2], np.float32)
        gathered = window(rows, 0, j, (8, 16), np.nan)
        np.testing.assert_array_equal(heap.get(to, out).reshape(8, 16), np.where(np.isnan(block), gathered, block))
        for r, c in np.ndindex(8, 16):
            if 0 <= i + r < m and 0 <= j + c < n:
                a[i + r, j + c] += a[i + r, j + c]
        np.testing.assert_array_equal(heap.get(at, source).reshape(m, n), a)
