"""A fixed slice of random kernels, interpreter against the code for NVIDIA GPUs: of `python -m tests.fuzz.emulated`."""

import random

import numpy as np
import pytest

from naiad.tools.fuzz import products, sources, streams
from naiad.tools.fuzz.compare import check
from naiad.tools.fuzz.generator import generate
from naiad.tools.fuzz.program import Program
from naiad.tools.fuzz.scope import Scope

from .emulated import EMULATOR, options

SLICE = [(seed, 20) for seed in range(1, 11)]


@pytest.mark.parametrize("seed, size", SLICE)
def test_interpreter_and_gpu_agree(seed, size):
    outcome = check(generate(seed, size), (), EMULATOR)
    assert outcome.kind == "ok", f"{outcome.text}\npython -m tests.fuzz.emulated --size {size} --only {seed}"


PRODUCTIONS = (products.product, products.products_in_a_loop, products.product_of_product, products.batch_product,
               products.scaled_product, streams.streamed, streams.described, streams.fetched, streams.pairs,
               streams.rearranged, streams.running)  # fmt: skip


@pytest.mark.parametrize("production", PRODUCTIONS, ids=lambda production: production.__name__)
def test_each_way_to_touch_matrices_and_memory(production):
    program = Program(3, grid=2)
    scope = Scope(program, random.Random(production.__name__), lambda scope: None)
    sources.begin(scope)
    scope.define(f"({sources.position((4, 8, 16))}) * 37 % 101", "int32", (4, 8, 16))
    before = len(program.statements)
    production(scope)
    assert len(program.statements) > before
    for value in scope.values[-1:]:
        sources.store_value(scope, value)
    outcome = check(program, (), EMULATOR)
    assert outcome.kind == "ok", f"{outcome.text}\n{options(3)}\n{program.source()}"


def test_a_wrong_kernel_is_found(monkeypatch):
    """The emulated kernel's outputs are changed: the comparison sees it."""
    from . import emulated

    right = emulated.emulated

    def wrong(program, source):
        arrays = right(program, source)
        name = next(a.name for a in program.arguments if a.output)
        arrays[name].view(np.uint8)[0] ^= 0x40
        return arrays

    monkeypatch.setattr(emulated, "EMULATOR", emulated.Machine("wrong", wrong, ""))
    assert check(generate(2, 20), (), emulated.EMULATOR).kind == "differs"
