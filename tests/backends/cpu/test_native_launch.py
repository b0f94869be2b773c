"""Kernels launched again and again: the native launchers that the runtime puts in give what Python would."""

import sys
import threading

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.backends.cpu.system import has_native_launcher
from naiad.runtime.launcher import RENEWAL, GridLauncher

torch = pytest.importorskip("torch", reason="torch's tensors are arguments here")
pytestmark = pytest.mark.skipif(not has_native_launcher(), reason="no native launcher on this platform")


def make():
    """A kernel of its own for each test."""

    @naiad.jit
    def scale(x_ptr, out_ptr, n, factor, offset=2, BLOCK: tl.constexpr = 64):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + places, mask=places < n)
        tl.store(out_ptr + places, x * factor + offset, mask=places < n)

    return scale


def is_native(kernel, grid):
    return type(kernel._launchers[grid]).__name__ == "builtin_function_or_method"


def test_a_repeated_launch_is_native_and_right():
    kernel, x, out = make(), torch.randn(100), torch.zeros(100)
    first = kernel[(2,)](x, out, 100, 3.0)
    kernel[(2,)](x, out, 100, 3.0)
    assert is_native(kernel, (2,)) and torch.equal(out, x * 3 + 2)
    out.zero_()
    assert kernel[(2,)](x, out, 100, 3.0) is first and torch.equal(out, x * 3 + 2)
    kernel[(2,)](x, out, 50, -1.5)
    assert torch.equal(out[:50], x[:50] * -1.5 + 2) and torch.equal(out[50:], x[50:] * 3 + 2)


def test_every_form_of_call_is_right():
    """Dtypes, alignment, sizes, keywords, defaults and kinds of array change from call to call, over one grid."""
    kernel = make()
    forms = []
    for dtype in (torch.float32, torch.float64, torch.int32):
        for start in (0, 1, 4):
            for n in (1, 16, 60, 64, 100):
                forms.append((torch.arange(start + 128, dtype=dtype)[start:], n))
    generator = np.random.default_rng(0)
    for index in generator.integers(0, len(forms), 600):
        x, n = forms[index]
        out, factor = torch.zeros(128, dtype=x.dtype), int(generator.integers(1, 20))
        arrays = (x.numpy(), out.numpy()) if index % 2 else (x, out)
        keywords = [{}, {"offset": 7}, {"BLOCK": 64}, {"offset": 1, "BLOCK": 64}][generator.integers(0, 4)]
        kernel[(2,)](*arrays, n, factor, **keywords)
        expected = torch.zeros_like(out)
        expected[:n] = x[:n] * factor + keywords.get("offset", 2)
        assert torch.equal(out, expected), (x.dtype, n, factor, keywords)


def test_launchers_follow_the_forms_in_use():
    """A grid whose early forms are no longer used gets launchers for the late ones."""
    kernel, x, out = make(), torch.randn(64), torch.zeros(64)
    for block in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        kernel[(1,)](x, out, 64, 2.0, BLOCK=block)
    for _ in range(2 * RENEWAL):
        kernel[(1,)](x, out, 64, 2.0, BLOCK=512)
    slow = []
    before, GridLauncher.through_python = GridLauncher.through_python, lambda *a, **k: slow.append(a)
    try:
        kernel[(1,)](x, out, 64, 2.0, BLOCK=512)
    finally:
        GridLauncher.through_python = before
    assert not slow


def test_a_launcher_that_somebody_holds_becomes_native(monkeypatch):
    kernel, x, out = make(), torch.randn(64), torch.zeros(64)
    held = kernel[(1,)]
    held(x, out, 64, 2.0)
    held(x, out, 64, 2.0)
    assert is_native(kernel, (1,))
    monkeypatch.setattr(type(kernel), "run", lambda *a, **k: pytest.fail("through Python"))
    held(x, out, 64, 3.0)
    assert torch.equal(out, x * 3 + 2)


def test_hooks_see_every_launch():
    kernel, x, out, seen = make(), torch.randn(64), torch.zeros(64), []
    kernel[(1,)](x, out, 64, 2.0)
    kernel[(1,)](x, out, 64, 2.0)
    held = kernel[(1,)]

    def hook(metadata):
        seen.append(metadata)

    knobs.runtime.launch_enter_hook.add(hook)
    try:
        kernel[(1,)](x, out, 64, 2.0)
        held(x, out, 64, 2.0)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert len(seen) == 2
    kernel[(1,)](x, out, 64, 2.0)
    kernel[(1,)](x, out, 64, 2.0)
    assert len(seen) == 2 and is_native(kernel, (1,))


def test_errors_are_the_users():
    kernel, x, out = make(), torch.randn(64), torch.zeros(64)
    for _ in range(3):
        kernel[(1,)](x, out, 64, 2.0)
        with pytest.raises(TypeError):
            kernel[(1,)](x, out, 64)
        with pytest.raises(TypeError):
            kernel[(1,)](x, out, object(), 2.0)
        with pytest.raises((TypeError, KeyError)):
            kernel[(1,)](x, out, 64, 2.0, blok=64)
        with pytest.raises(ValueError, match="cannot be accessed"):
            kernel[(1,)](x, out.to("meta").as_subclass(Elsewhere), 64, 2.0)


class Elsewhere(torch.Tensor):
    """A tensor that says it is on a GPU."""

    @property
    def device(self):
        return torch.device("cuda", 0)


def test_failed_assertions_raise_each_time():
    @naiad.jit(debug=True)
    def positive(x_ptr, n, BLOCK: tl.constexpr):
        places = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + places, mask=places < n, other=1)
        tl.device_assert(x > 0, "x must be positive")

    good, bad = torch.ones(16), torch.zeros(16)
    for _ in range(3):
        positive[(1,)](good, 16, BLOCK=16)
        with pytest.raises(RuntimeError, match="x must be positive"):
            positive[(1,)](bad, 16, BLOCK=16)


def test_threads_launch_at_the_same_time():
    kernel, wrong = make(), []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(200):
            n = int(torch.randint(1, 20000, (1,), generator=generator))
            x, out = torch.randn(n, generator=generator), torch.zeros(n)
            kernel[(naiad.cdiv(n, 64),)](x, out, n, 2.0)
            if not torch.equal(out, x * 2 + 2):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_kept():
    kernel, x, out = make(), torch.randn(64), torch.zeros(64)
    kernel[(1,)](x, out, 64, 2.0)
    kernel[(1,)](x, out, 64, 2.0)
    before = sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(x.dtype)
    for _ in range(1000):
        kernel[(1,)](x, out, 64, 2.0)
    after = sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(x.dtype)
    assert before == after
