"""What a launch gives back, launched again, and `compile` of what it cannot compile."""

import numpy as np
import pytest

import naiad
from naiad.compiler.compiler import compile
from tests.runtime.kernels import add


@pytest.fixture
def arrays():
    return np.ones(8, "f4"), np.ones(8, "f4"), np.zeros(8, "f4")


@pytest.fixture
def handle(arrays):
    return add[(1,)](*arrays, 8, BLOCK=8)


@pytest.mark.parametrize("grid", [1, (1,), [1, 1, 1], np.int64(1), lambda named: (naiad.cdiv(named["n"], 8),)])
def test_a_handle_takes_the_grids_of_a_launch(handle, grid):
    x, y, out = np.ones(8, "f4"), np.ones(8, "f4"), np.zeros(8, "f4")
    handle[grid](x, y, out, 8)
    assert (out == 2).all()


@pytest.mark.parametrize(
    ("grid", "kind", "said"),
    [((1, 2, 3, 4), ValueError, "1 to 3 dimensions"), ((1.5,), TypeError, "are ints"), ((-1,), ValueError, "negative"),
     (None, TypeError, "a grid is an int"), (lambda named: (1.5,), TypeError, "are ints")],
)  # fmt: skip
def test_a_wrong_grid_runs_nothing(handle, arrays, grid, kind, said):
    arrays[2][:] = 7
    with pytest.raises(kind, match=said):
        handle[grid](*arrays, 8)
    assert (arrays[2] == 7).all()


def test_run_with_too_few_arguments(handle, arrays):
    with pytest.raises(TypeError, match="takes 4 arguments at least, and 2 were given"):
        handle.run(1, 1, 1, 0, handle.function, handle.packed_metadata, None, None, None, *arrays[:2])


def test_compile_takes_sources():
    with pytest.raises(TypeError, match=r"compile takes an ASTSource.*say kernel\.warmup"):
        compile(add)


def test_a_file_of_no_stage(handle, tmp_path):
    """Also where the same text is in the cache as another stage."""
    right, wrong = tmp_path / "add.ttir", tmp_path / "add.word"
    for file in (right, wrong):
        file.write_text(handle.asm["ttir"])
    assert compile(str(right)).name == "add"
    with pytest.raises(ValueError, match=r"add.word is of no stage of cpu: expected \.ttir, \.ttcir, "):
        compile(str(wrong))


def test_small_functions_of_the_host():
    assert naiad.next_power_of_2(np.int64(5)) == 8 and naiad.next_power_of_2(0) == 0
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        naiad.next_power_of_2(3.5)
    with pytest.raises(TypeError, match="an allocator is a function"):
        naiad.set_allocator(5)
