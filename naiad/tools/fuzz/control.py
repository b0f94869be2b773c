"""Productions with a body: loops that carry values, branches that choose, a loop that runs until a condition fails."""

from naiad.tools.fuzz.scope import Scope
from naiad.tools.fuzz.values import Value, rounding


def loop(scope: Scope) -> None:
    """for: a tile and perhaps a number are carried from one iteration to the next."""
    start = scope.pick(lambda v: not v.is_bool and v.dtype != "bfloat16")
    if start is None:
        return
    carried = scope.name()
    scope.write(f"{carried} = {start.name}")
    kind = scope.random.choice(
        ("range(a1)", "range(1, 4)", "tl.range(0, a1, 2)", "tl.static_range(3)", "range(a1, 0, -1)")
    )
    made = scope.write(f"for k in {kind}:")
    made.body = []
    value = Value(carried, start.dtype, start.shape, start.bound, start.error)
    with scope.inside(made.body):
        if "static" not in kind:
            scope.values.append(Value("k", "int32", ()))
        for _ in range(scope.random.randint(1, 3)):
            scope.statement(scope)
        step = scope.pick(lambda v: v.dtype == start.dtype and (v.shape == start.shape or not v.shape))
        if value.is_integer:
            what = f"{step.name}" if step is not None else "1"
            scope.write(f"{carried} = {carried} * 3 + {what}")
        else:
            value = _damped(scope, value, step)
    scope.values.append(value)


def _damped(scope: Scope, value: Value, step: Value | None) -> Value:
    """carried = carried / 2 + step: stays below the larger of its start and twice the step, and so does the error."""
    what, bound, error = (step.name, step.bound, step.error) if step is not None else ("1", 1.0, 0.0)
    scope.write(f"{value.name} = {value.name} * 0.5 + {what}")
    limit = value.bound + 2 * bound
    total = value.error + 2 * error + 4 * rounding(value.dtype, limit)
    return Value(value.name, value.dtype, value.shape, limit, total)


def branch(scope: Scope) -> None:
    """if: both sides give a value of one type and shape."""
    condition = scope.pick(lambda v: v.is_integer and not v.shape)
    first = scope.pick(lambda v: not v.is_bool)
    if condition is None or first is None:
        return
    second = scope.pick(lambda v: v.dtype == first.dtype and v.shape == first.shape) or first
    name = scope.name()
    made = scope.write(f"if {condition.name} % 2 == {scope.random.choice((0, 1))}:")
    made.body, made.orelse = [], []
    for body, value in ((made.body, first), (made.orelse, second)):
        with scope.inside(body):
            if scope.random.random() < 0.5:
                scope.statement(scope)
            assigned = scope.write(f"{name} = {value.name}")
    made.body[-1].number = assigned.number  # both sides go together, where one does
    bound, error = max(first.bound, second.bound), max(first.error, second.error)
    scope.values.append(Value(name, first.dtype, first.shape, bound, error))


def halving(scope: Scope) -> None:
    """while: halves a number until it is small, and counts."""
    start = scope.pick(lambda v: v.dtype == "int32" and not v.shape)
    if start is None:
        return
    number, count = scope.name(), scope.name()
    scope.write(f"{number} = {start.name} & 1023")
    scope.write(f"{count} = {start.name} * 0")
    made = scope.write(f"while {number} > {scope.random.choice((0, 3, 10))}:")
    made.body = []
    with scope.inside(made.body):
        scope.write(f"{number} = {number} // 2")
        scope.write(f"{count} += {number}")
    scope.values += [Value(number, "int32", ()), Value(count, "int32", ())]
