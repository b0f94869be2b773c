"""What an op does to memory, and whether it may be dropped, repeated or moved: the questions that passes ask.

Answers come from the op's traits, looked up once a class; an op without traits may do anything.
"""

from enum import IntFlag
from functools import cache

from xdsl.dialects.scf import WhileOp
from xdsl.ir import Operation
from xdsl.traits import (
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoMemoryEffect,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

__all__ = ["Effect", "effect_of", "is_dead", "is_droppable", "is_speculatable", "is_terminator"]


class Effect(IntFlag):
    NONE = 0
    READ = 1
    WRITE = 2
    NESTED = 4
    """Whatever the ops in its regions do."""
    DECLARED = 8
    """Code from outside that says of itself whether it is pure."""


@cache
def _of_class(op: type[Operation]) -> Effect:
    if op.name in ("tt.elementwise_inline_asm", "tt.extern_elementwise"):
        return Effect.DECLARED
    found = Effect.NONE
    if op.has_trait(RecursiveMemoryEffect):
        found |= Effect.NESTED
    if op.has_trait(MemoryReadEffect):
        found |= Effect.READ
    if op.has_trait(MemoryWriteEffect):
        found |= Effect.WRITE
    quiet = op.has_trait(Pure) or op.has_trait(NoMemoryEffect) or op.has_trait(IsTerminator)
    return found if found or quiet else Effect.READ | Effect.WRITE


@cache
def is_terminator(op: type[Operation]) -> bool:
    return op.has_trait(IsTerminator)


@cache
def _is_pure(op: type[Operation]) -> bool:
    return op.has_trait(Pure)


@cache
def _is_symbol(op: type[Operation]) -> bool:
    return op.has_trait(SymbolOpInterface) or op.name == "builtin.module"


def effect_of(op: Operation) -> Effect:
    """Whether the op, with all in its regions, reads or writes memory."""
    effect = _of_class(type(op))
    if effect is Effect.DECLARED:
        return Effect.NONE if op.is_pure else Effect.READ | Effect.WRITE
    if effect & Effect.NESTED:
        effect &= ~Effect.NESTED
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    effect |= effect_of(inner)
    return effect


@cache
def _may_go(op: type[Operation]) -> bool | None:
    """Whether nobody would miss any op of the class without uses; None where it depends on the op."""
    if is_terminator(op) or _is_symbol(op) or op is WhileOp:
        return False
    effect = _of_class(op)
    return None if effect & (Effect.NESTED | Effect.DECLARED) else not effect & Effect.WRITE


def is_speculatable(op: Operation) -> bool:
    """Whether the op may run where the program would not run it: it reads and writes nothing and cannot trap."""
    kind = type(op)
    if _is_pure(kind):
        return not is_terminator(kind)
    return _of_class(kind) is Effect.DECLARED and effect_of(op) == Effect.NONE


def is_droppable(op: Operation) -> bool:
    """Whether nobody would miss the op if its results had no uses. A volatile load is missed.

    A while loop may not end.
    """
    known = _may_go(type(op))
    if known is None:
        known = not effect_of(op) & Effect.WRITE
    return known and "isVolatile" not in op.properties


def is_dead(op: Operation) -> bool:
    """Whether the op may go: nothing uses its results and it does nothing else."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return is_droppable(op)
