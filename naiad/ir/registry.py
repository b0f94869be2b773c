"""Every op of every dialect by its name, and the xDSL context that parses them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import Builtin, LocationAttr
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue

from naiad.ir import loops, ttc, ttn
from naiad.ir.attributes import KeywordAttr
from naiad.ir.constants import ConstantOp, SplatAttr
from naiad.ir.elementwise import ELEMENTWISE
from naiad.ir.tt import blocks, debug, dot, func, make, memory, reduce, shape
from naiad.ir.types import PointerType, TensorDescType

__all__ = ["DIALECTS", "OPS", "context", "make_op"]

TT_OPS = [*func.OPS, *make.OPS, *memory.OPS, *blocks.OPS, *shape.OPS, *reduce.OPS, *dot.OPS,
          *(op for op in debug.OPS if op.name.startswith("tt.")),
          *(op for name, op in ELEMENTWISE.items() if name.startswith("tt."))]  # fmt: skip
DIALECTS: tuple[Dialect, ...] = (
    Builtin,
    scf.Scf,
    Dialect("arith", [ConstantOp, *(op for name, op in ELEMENTWISE.items() if name.startswith("arith."))], []),
    Dialect("math", [op for name, op in ELEMENTWISE.items() if name.startswith("math.")], []),
    Dialect("tt", TT_OPS, [PointerType, TensorDescType]),
    Dialect("ttn", ttn.OPS, []),
    Dialect("naiad", [], [SplatAttr, KeywordAttr]),
    Dialect("llvm", [debug.AssumeOp], loops.ATTRIBUTES),
    Dialect("ub", [debug.PoisonOp], []),
    Dialect("gpu", [debug.BarrierOp], []),
    ttc.TTC,
)
SCF_OPS = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)
ALL: tuple[type[Any], ...] = (*ELEMENTWISE.values(), ConstantOp, *TT_OPS, *ttn.OPS, *ttc.OPS, *SCF_OPS, *debug.OPS)
OPS: dict[str, type[Any]] = {op.name: op for op in ALL}
"""Every op by its name."""


@cache
def context() -> Context:
    """The context that knows every dialect of naiad, those of GPUs too; one for the process."""
    from naiad.ir.nvg import NVG  # here, since only text needs them and defining their ops takes time
    from naiad.ir.ttg import TTG

    made = Context()
    for dialect in (*DIALECTS, TTG, NVG):
        made.load_dialect(dialect)
    return made


def make_op(
    name: str,
    *operands: SSAValue,
    results: Sequence[Attribute] = (),
    location: LocationAttr | None = None,
    regions: Sequence[Region] = (),
    **properties: Any,
) -> Operation:
    """An op by its name, in one way for naiad's ops and for those of scf, whose constructors differ."""
    op = OPS[name]
    if op in SCF_OPS:
        return op.create(
            operands=operands, result_types=results, properties=properties, location=location, regions=regions
        )
    return op(*operands, results=results, location=location, regions=regions, **properties)
