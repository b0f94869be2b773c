"""Constants of every kind: as keys, in kernels, as text for another process, and preloaded there."""

import collections
import dataclasses
import enum
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import naiad
import naiad.language as tl
from naiad import knobs
from naiad.runtime.preload_values import decode, encode

ROOT = str(Path(__file__).parent.parent.parent)
Sizes = collections.namedtuple("Sizes", "rows columns")


class Mode(enum.Enum):
    ADD = 1
    MULTIPLY = 2


@dataclasses.dataclass(frozen=True)
class Settings:
    step: int
    kind: tl.dtype = tl.float32


@naiad.jit
def plus(x):
    return x + 1


@naiad.jit
def times(x):
    return x * 2


@naiad.jit
def of_constants(out, pair, sizes: tl.constexpr, combine: tl.constexpr, kind: tl.constexpr, mode: tl.constexpr = None):
    value = combine(pair.rows) + sizes.columns * 100 + sizes.rows[1] * 1000
    if mode is None:
        value += 10000
    tl.store(out, value.to(kind))


CONSTANTS = [
    None, True, 1, 1.5, float("inf"), "text", b"bytes", 2j, (1, (2.5, "x"), None), Sizes(1, (2, 3)), Mode.MULTIPLY,
    Settings(3), Settings(3, tl.int8), tl.float16, tl.constexpr(4), plus, [1, (2,)], {"a": (1, 2)}, Settings, tl.cdiv,
    np.float32,
]  # fmt: skip


@pytest.mark.parametrize("value", CONSTANTS, ids=repr)
def test_values_come_back_from_text(value):
    again = decode(json.loads(json.dumps(encode(value))))
    assert type(again) is type(value)
    same = isinstance(value, tl.dtype | type) or value in (plus, tl.cdiv)
    assert again is value if same else repr(again) == repr(value)


def test_torchs_dtypes_come_back():
    torch = pytest.importorskip("torch", reason="its dtypes are constants here")
    assert decode(encode((torch.bfloat16,))) == (torch.bfloat16,)


def test_what_cannot_come_back_says_so():
    local = collections.namedtuple("local", "x")
    local.__qualname__ = "somewhere.<locals>.local"
    with pytest.raises(RuntimeError, match=r"Unable to resolve .*<locals>.*for preload"):
        decode(encode(local(1)))
    with pytest.raises(RuntimeError, match="has no form outside of its process: <object object"):
        decode(json.loads(json.dumps(encode((object(),)))))


def launch(out, combine=plus):
    of_constants[(1,)](out, Sizes(7, 2.5), Sizes((4, 5), 6), combine, tl.int32)
    return out[0]


def test_constants_in_a_kernel_and_kernels_of_their_own():
    out = np.zeros(1, "i4")
    assert launch(out) == 8 + 600 + 5000 + 10000
    assert launch(out, times) == 14 + 600 + 5000 + 10000
    assert launch(out) == 8 + 600 + 5000 + 10000
    assert len(of_constants.device_caches["cpu"][0]) == 2


PRELOADING = """
import sys
import numpy as np
from naiad import knobs
from tests.runtime import test_jit_preload as here

handle = here.of_constants.preload(open(sys.argv[1]).read())
compiled = []
knobs.runtime.jit_cache_hook = lambda **facts: compiled.append(facts["key"]) and None
out = np.zeros(1, "i4")
print(here.launch(out), len(compiled), handle.name)
"""


def test_another_process_preloads(tmp_path, cache_folder):
    told = []
    knobs.runtime.jit_post_compile_hook = lambda **facts: told.append(facts["compile"]["specialization_data"]) and None
    of_constants.device_caches.clear()
    want = launch(np.zeros(1, "i4"))
    (tmp_path / "data.json").write_text(told[0])
    command = [sys.executable, "-c", PRELOADING, str(tmp_path / "data.json")]
    env = {**os.environ, "PYTHONPATH": ROOT, "TRITON_CACHE_DIR": str(cache_folder)}
    said = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    assert said.stdout.split() == [str(want), "0", "of_constants"], said.stderr
