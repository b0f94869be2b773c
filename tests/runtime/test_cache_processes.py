"""Many processes that compile the same kernels into one cache while some of them are killed."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from naiad.compiler.store import FileStore, decode

ROOT = str(Path(__file__).parent.parent.parent)
CHILD = """
    import sys
    import numpy as np
    import naiad
    from naiad import knobs
    from tests.runtime.cache_kernels import KERNELS, check

    hits = []
    knobs.compilation.listener = lambda **facts: hits.append(facts["cache_hit"])
    for kernel in KERNELS[: int(sys.argv[1])]:
        check(kernel, np.random.default_rng(int(sys.argv[2])))
    print("right", hits.count(True), hits.count(False))
"""


def start(folder, kernels, seed):
    variables = {**os.environ, "TRITON_CACHE_DIR": str(folder), "NAIAD_NUM_THREADS": "1", "PYTHONPATH": ROOT}
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(kernels), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)


def stress(folder, processes, kernels, seconds, rng):
    """Starts the processes, and kills a third of them at random within `seconds`; all others must finish right.

    Gives what these said on their way.
    """
    children = [start(folder, kernels, i) for i in range(processes)]
    victims = rng.sample(children, processes // 3)
    began = time.monotonic()
    for child, moment in zip(victims, sorted(rng.uniform(0.1, seconds) for _ in victims), strict=True):
        time.sleep(max(0.0, began + moment - time.monotonic()))
        child.send_signal(signal.SIGKILL)
    said = []
    for child in children:
        out, err = child.communicate(timeout=300)
        if child in victims and child.returncode == -signal.SIGKILL:
            continue
        assert out.startswith("right"), err
        said.append(err)
    return said


def assert_sound(folder, kernels):
    """Every file of the cache is what was written, and a last process compiles nothing."""
    paths = list(folder.glob("*.naiad"))
    assert len(paths) == kernels
    for path in paths:
        assert decode(path.read_bytes(), path.stem)
        assert FileStore(str(folder)).load(path.stem)
    last = start(folder, kernels, 99)
    out, err = last.communicate(timeout=120)
    assert out.split() == ["right", str(kernels), "0"], err


def test_six_processes_two_of_them_killed(cache_folder):
    said = stress(cache_folder, 6, 3, 1.5, random.Random(1))
    assert len(said) >= 4 and not any("damaged" in text for text in said)
    assert_sound(cache_folder, 3)


@pytest.mark.slow
def test_thirty_two_processes_a_third_of_them_killed(cache_folder):
    rng = random.Random(2)
    said = stress(cache_folder, 32, 10, 25.0, rng)
    assert len(said) >= 22 and not any("damaged" in text for text in said)
    for path in rng.sample(sorted(cache_folder.glob("*.naiad")), 4):
        path.write_bytes(rng.choice([b"", path.read_bytes()[:300], os.urandom(4000)]))
    said = stress(cache_folder, 8, 10, 6.0, rng)
    assert any("damaged" in text for text in said)
    assert_sound(cache_folder, 10)
