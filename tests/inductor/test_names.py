"""Every name of triton's that torch imports, uses, or writes into its kernels is there, or its absence has a reason."""

import importlib
import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAST = "of an earlier version of Triton; torch looks whether it is there, as Triton 3.6 has it no more"
ABSENT = {
    "triton.backends.compiler*AttrsDescriptor": PAST,
    "triton.compiler.compiler*AttrsDescriptor": PAST,
    "triton.runtime.cache:_base64": PAST,
    "triton.runtime.jit.create_specialize_impl": PAST,
    "triton.tools.experimental_descriptor*": PAST,
    "triton.language._experimental_*": PAST,
    "triton.language.extra.cuda?experimental_*": PAST,
    "triton.ops.matmul": "named in a comment of the templates",
    "triton.fb*": "internal to a company",
    "triton.language.extra.intel*": "for a fork of Triton; torch looks whether it is there",
    "triton.runtime.errors:IntelGPUError": "for a fork of Triton; torch catches the ImportError",
    "triton.language.extra.tlx*": "for a fork of Triton; torch catches the ImportError",
    "triton.profiler*": "the setting proton_profiling; naiad has no profiler of that kind",
    "triton.language.uint": "the start of a name; torch appends the number of bits",
    **{
        f"triton.language.{name}": "a name of torch's that is replaced before it is written"
        for name in ("bool", "float8_*", "float4_*")
    },
}


def resolve(name):
    """Whether `a.b:c` can be imported, or `a.b.c` be reached from a, under the drop-in."""
    module, colon, attribute = name.partition(":")
    try:
        if colon:
            found = importlib.import_module(module)
            return not attribute or hasattr(found, attribute) or bool(importlib.import_module(f"{module}.{attribute}"))
        words = module.split(".")
        found = importlib.import_module(words[0])
        for end, word in enumerate(words[1:], 2):
            found = getattr(found, word) if hasattr(found, word) else importlib.import_module(".".join(words[:end]))
        return True
    except ImportError:
        return False


def main():
    """Prints all names, those that do not resolve with the places that use them."""
    import naiad.compat
    from tests.inductor import sources

    naiad.compat.install()
    places = {}
    for name, place in sources.uses():
        places.setdefault(name, []).append(place)
    print(json.dumps({"all": [*places], "missing": {name: at for name, at in places.items() if not resolve(name)}}))


@pytest.fixture(scope="module")
def names():
    pytest.importorskip("torch", reason="its sources are what is read")
    command = [sys.executable, "-c", "from tests.inductor.test_names import main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_names_are_there(names):
    unexplained = {
        name: at for name, at in names["missing"].items() if not any(fnmatch(name, known) for known in ABSENT)
    }
    assert unexplained == {}


def test_the_sources_were_read(names):
    used = {"triton.language.load", "triton.language.extra.libdevice.erf", "triton.compiler.compiler:ASTSource",
            "triton.runtime.jit:native_specialize_impl", "triton._C.libtriton.ir.context"}  # fmt: skip
    assert used <= set(names["all"])
    assert len(names["all"]) > 200


@pytest.mark.parametrize("pattern", ABSENT)
def test_reasons_are_needed(names, pattern):
    assert any(fnmatch(name, pattern) for name in names["missing"])
