"""Tables of lowering rules: op name -> the function that writes it. A backend's table is a later dict that wins.

rules = Rules()

@rules.lower("arith.addi", "arith.subi")
def add(op, e): ...

RULES = Rules.of(elementwise.rules, memory.rules)
"""

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import Block, Operation

from naiad.lowering.mistakes import no_rule, placed

Rule = Callable[[Operation, Any], Any]


class Rules(dict[str, Rule]):
    """Op name -> rule. A rule takes (op, emitter) and gives the operands of the op's results."""

    def lower(self, *names: str) -> Callable[[Rule], Rule]:
        """Registers the decorated function for the ops called `names`."""

        def register(rule: Rule) -> Rule:
            self.update(dict.fromkeys(names, rule))
            return rule

        return register

    @classmethod
    def of(cls, *tables: "Rules") -> "Rules":
        """One table of several; a later one wins."""
        merged = cls()
        for table in tables:
            merged.update(table)
        return merged


def lower_block(block: Block, e: Any, rules: Rules) -> None:
    """Writes the ops of `block` in order; what a rule gives is bound to the op's results.

    A rule gives None (no results), one operand (a string), or one entry a result.
    """
    lower_operations(block.ops, e, rules)


def lower_operations(operations: Iterable[Operation], e: Any, rules: Rules) -> None:
    """As `lower_block`, for any run of ops."""
    values, locations = e.values, e.locations
    for op in operations:
        rule = rules.get(op.name)
        if rule is None:
            raise no_rule(op)
        if locations is not None:
            e.suffix = locations.suffix(op.location)
        try:
            given = rule(op, e)
        except NotImplementedError as error:
            raise placed(op, error) from error
        if given is None:
            continue
        results = op.results
        if isinstance(given, str):
            values[results[0]] = given
        else:
            for result, operand in zip(results, given, strict=True):
                values[result] = operand
