"""Whether a module is well formed: each op's own rules, what dominance asks, and what is legal at a stage.

check(module, "ttir")        # raises IRError: k.py:3:9: tt.load: expected a mask of type tensor<64xi1>, got ...
"""

from collections.abc import Iterator

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, ModuleOp, NameLoc, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

__all__ = ["IRError", "check", "place_of"]


class IRError(Exception):
    """An op that breaks a rule of the IR: the fault of a pass or of hand-written IR, never of a kernel."""


LEGAL: dict[str, tuple[str, ...]] = {
    "ttir": ("builtin", "arith", "math", "scf", "tt", "ttn", "ub", "llvm", "gpu"),
    "ttcir": ("builtin", "arith", "math", "scf", "tt", "ttc", "ub", "llvm"),
    "ttgir": ("builtin", "arith", "math", "scf", "tt", "ttn", "ub", "llvm", "gpu", "ttg", "ttng", "nvg"),
}
"""The dialects that a stage may hold."""


def check(module: ModuleOp, stage: str = "") -> None:
    """Raises IRError at the first op that breaks a rule; with `stage`, also where an op does not belong there."""
    dialects = LEGAL[stage] if stage else None
    _check_region(module.body, [set()], dialects, stage)


def _check_region(region: Region, scopes: list[set[SSAValue]], dialects: tuple[str, ...] | None, stage: str) -> None:
    for block in region.blocks:
        scope: set[SSAValue] = set(block.args)
        scopes.append(scope)
        for op in block.ops:
            _check_op(op, scopes)
            if dialects is not None:
                _check_stage(op, dialects, stage)
            inner = [set[SSAValue]()] if op.regions and op.has_trait(IsolatedFromAbove) else scopes
            for nested in op.regions:
                _check_region(nested, inner, dialects, stage)
            scope.update(op.results)
        scopes.pop()


def _check_op(op: Operation, scopes: list[set[SSAValue]]) -> None:
    for n, operand in enumerate(op._operands):
        if not any(operand in scope for scope in reversed(scopes)):
            raise _error(op, f"operand {n} is used where its definition does not reach")
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise _error(op, _reason(error)) from error


def _check_stage(op: Operation, dialects: tuple[str, ...], stage: str) -> None:
    if op.name.split(".", 1)[0] not in dialects:
        raise _error(op, f"does not belong in {stage}")
    if stage == "ttir":
        for value in op.results:
            if isinstance(value.type, TensorType) and isinstance(_encoding(value.type), Attribute):
                raise _error(op, f"a layout in ttir: {value.type}")
    if stage == "ttcir" and any(isinstance(v.type, TensorType) for v in op.results):
        raise _error(op, "a tensor in ttcir")


def _encoding(type: TensorType) -> Attribute | None:
    return None if type.encoding.name == "none" else type.encoding


def _reason(error: VerifyException) -> str:
    """The innermost message: xDSL repeats it with the whole module."""
    while isinstance(error.__cause__, VerifyException):
        error = error.__cause__
    text = str(error).strip()
    return text.rsplit("Operation does not verify: ", 1)[-1].splitlines()[0] if text else "does not verify"


def _error(op: Operation, reason: str) -> IRError:
    place = place_of(op.location)
    return IRError(f"{place}: {op.name}: {reason}" if place else f"{op.name}: {reason}")


def place_of(location: LocationAttr | None) -> str:
    """`k.py:3:9`, or "" where unknown; of a call, where the callee stands."""
    for place in _files(location):
        return f"{place.filename.data}:{place.line.data}:{place.column.data}"
    return ""


def _files(location: Attribute | None) -> Iterator[FileLineColLoc]:
    if isinstance(location, FileLineColLoc):
        yield location
    elif isinstance(location, NameLoc):
        yield from _files(location.location)
    elif isinstance(location, CallSiteLoc):
        yield from _files(location.callee)
        yield from _files(location.caller)
    elif isinstance(location, FusedLoc):
        for part in location.locations:
            yield from _files(part)
