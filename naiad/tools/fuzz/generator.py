"""Makes a random kernel from a seed. The productions, what a statement may be, stand in the files by family."""

import random
import re
from collections.abc import Callable

from naiad.tools.fuzz import arithmetic, control, moves, products, sources, streams
from naiad.tools.fuzz.program import Program
from naiad.tools.fuzz.scope import Scope

Production = Callable[[Scope], None]
"""Adds a statement or a few to a scope; does nothing where the scope has no values for it."""

PRODUCTIONS: tuple[tuple[int, Production], ...] = (
    (5, sources.load),
    (1, sources.constant),
    (1, sources.index),
    (1, sources.gathered_load),
    (6, arithmetic.integers),
    (2, arithmetic.integer_division),
    (2, arithmetic.shift),
    (6, arithmetic.floats),
    (3, arithmetic.function),
    (3, arithmetic.comparison),
    (2, arithmetic.logic),
    (3, arithmetic.choice),
    (2, arithmetic.extremum),
    (4, arithmetic.cast),
    (1, arithmetic.bits),
    (1, arithmetic.call),
    (3, moves.reduction),
    (2, moves.scan),
    (1, moves.arg_reduction),
    (3, moves.reshape),
    (2, moves.broadcast),
    (1, moves.sort),
    (1, moves.gather),
    (1, moves.join),
    (1, moves.histogram),
    (2, moves.dot),
    (1, products.product),
    (1, products.products_in_a_loop),
    (1, products.product_of_product),
    (1, products.batch_product),
    (1, products.scaled_product),
    (1, streams.streamed),
    (1, streams.running),
    (1, streams.described),
    (1, streams.fetched),
    (1, streams.pairs),
    (1, streams.rearranged),
    (2, control.loop),
    (2, control.branch),
    (1, control.halving),
    (1, sources.atomic),
    (2, sources.store),
)


def statement(scope: Scope) -> None:
    """One random statement."""
    weights = [weight for weight, _ in PRODUCTIONS]
    production = scope.random.choices(PRODUCTIONS, weights)[0][1]
    if scope.depth and production in (control.loop, control.branch, control.halving):
        return
    production(scope)


def generate(seed: int, size: int = 14) -> Program:
    """The kernel of `seed`, of about `size` statements; what it computes and does not use otherwise is stored."""
    rng = random.Random(seed)
    program = Program(seed, grid=rng.choice((1, 2, 3)))
    scope = Scope(program, rng, statement)
    sources.begin(scope)
    for _ in range(3):
        sources.load(scope)
    for _ in range(rng.randint(size // 2, size)):
        statement(scope)
    text = program.source()
    unused = [value for value in scope.values if not re.search(rf"\b{value.name}\b.*\b{value.name}\b", text, re.DOTALL)]
    for value in unused:
        sources.store_value(scope, value)
    return program
