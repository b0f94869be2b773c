"""tt-retype-dots: products of 8-bit floats that no matrix instruction takes become products of f16. ttir to ttir.

    tt.dot %a, %b, %c : f8E5M2 * f8E4M3FN -> f16    multiplies tt.fp_to_fp %a and tt.fp_to_fp %b

f16 holds every 8-bit float. Without `fp8`, which says that the GPU multiplies them into f32, those into f32 change too.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.passes import ModulePass

from naiad.ir.base import element, like
from naiad.ir.tt.dot import DotOp
from naiad.passes.ttir.accesses import Maker

__all__ = ["RetypeDots"]


@dataclass(frozen=True)
class RetypeDots(ModulePass):
    """fp8: whether 8-bit floats are multiplied into f32 as they are."""

    name = "tt-retype-dots"
    fp8: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, DotOp) and not self.is_taken(inner):
                make = Maker(inner, inner.location)
                for index, value in enumerate((inner.a, inner.b)):
                    inner.operands[index] = make.op("tt.fp_to_fp", like(value.type, f16), value)

    def is_taken(self, dot: DotOp) -> bool:
        """Whether the dot has other types, or the GPU takes these."""
        a, b, c = (element(v.type) for v in dot.operands)
        if not all(t.name.startswith("f8E") for t in (a, b)):
            return True
        return self.fp8 if c == f32 else c != f16
