"""What a backend cannot write, told at the line of the kernel that asks for it.

A rule raises `explain(NotImplementedError(reason), expected=.., found=.., advice=..)`; who runs rules adds the place.
"""

import linecache

from xdsl.ir import Operation

from naiad.errors import CompilationError, Place, explain, explanation_of
from naiad.lowering.locations import place_of


def placed(op: Operation, error: NotImplementedError) -> CompilationError:
    """The error where `op` stands in the kernel's source."""
    found, place = place_of(op.location), None
    if found is not None and (lines := linecache.getlines(found[0])):
        file, line, column = found
        place = Place("".join(lines), line, max(column - 1, 0), file=file)
    return CompilationError(str(error), place, explanation_of(error))


def no_rule(op: Operation) -> CompilationError:
    """Of an op that a backend cannot write."""
    error = explain(
        NotImplementedError(f"no lowering for {op.name}"),
        expected="an op that this target has a rule for",
        found=str(op),
        advice="write the kernel without it, compile for another target, or add a rule (CONTRIBUTING.md says how)",
    )
    return placed(op, error)


def tangled(what: str, layout: object) -> NotImplementedError:
    """Of `what`, which works along one dimension: the layout has a bit that counts along several."""
    return explain(
        NotImplementedError(f"{what} along bits that also count along another dimension"),
        expected="a layout each bit of which counts along one dimension",
        found=str(layout),
        advice="convert the tile to a blocked layout before (ttg.convert_layout)",
    )
