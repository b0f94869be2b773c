"""Native launchers are not made again and again for calls that they cannot serve."""

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad.backends.cpu.system import has_native_launcher
from naiad.runtime import native
from naiad.tools.tensor_descriptor import TensorDescriptor

pytestmark = pytest.mark.skipif(not has_native_launcher(), reason="no native launcher on this platform")


@pytest.fixture
def made(monkeypatch):
    """What the attempts gave."""
    found, make = [], native.native_launcher

    def counted(*args):
        found.append(make(*args))
        return found[-1]

    monkeypatch.setattr(native, "native_launcher", counted)
    return found


def store(out, n, pair=(1, 2)):
    tl.store(out, n + pair[0])


def store_first(desc, n):
    desc.store([0, 0], tl.zeros([4, 4], tl.float32) + n)


@pytest.mark.parametrize("bound", [False, True])
def test_attempts_become_rare_where_they_are_in_vain(made, bound):
    kernel, block = naiad.jit(store_first), np.zeros((4, 4), "f4")
    desc = TensorDescriptor(block, [4, 4], [4, 1], [4, 4])
    launch = kernel.bind(desc, 3, grid=(1,)) if bound else kernel[(1,)]
    for n in range(2, 202):
        launch(desc, n)
        assert (block == n).all()
    assert set(made) == {None} and len(made) <= 7


@pytest.mark.parametrize("bound", [False, True])
def test_tuples_that_come_anew(made, bound):
    kernel, out = naiad.jit(store), np.zeros(1, "i4")
    launch = kernel.bind(out, 3, (5, 6), grid=(1,)) if bound else kernel[(1,)]
    for n in range(2, 202):
        launch(out, n, (n + 3, 4))
        assert out[0] == 2 * n + 3
    assert len(made) <= 8
    made.clear()
    held = (7, 8)
    for n in range(2, 402):
        launch(out, n, held)
        assert out[0] == n + 7
    assert made and len(made) <= 3, "the same tuple is served natively in the end"


@pytest.mark.parametrize("bound", [False, True])
def test_what_is_in_vain_does_not_stand_in_the_way_of_the_others(made, bound):
    kernel, out = naiad.jit(store), np.zeros(1, "i4")
    launch = kernel.bind(out, np.int64(3), grid=(1,)) if bound else kernel[(1,)]
    for n in range(2, 42):
        launch(out, np.int64(n))
        assert out[0] == n + 1
    made.clear()
    launch(out, 5)
    assert len(made) == 1 and made[0] is not None
    (kernel[(1,)] if not bound else launch)(out, 6)
    assert len(made) == 1 and out[0] == 7
