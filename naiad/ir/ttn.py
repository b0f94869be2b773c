"""naiad's own tile ops, of what Triton writes as library code: sort, topk, flip."""

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i32
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from naiad.ir.base import NaiadOp, element, shape

__all__ = ["OPS", "FlipOp", "SortOp", "TopkOp"]

FORMAT = "$src attr-dict `:` type($src) `->` type($result)"


@irdl_op_definition
class SortOp(NaiadOp):
    """The elements in order along `axis`; NaN last when ascending. `signed`: how integers compare."""

    name = "ttn.sort"
    src = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    descending = opt_prop_def(UnitAttr)
    signed = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = FORMAT

    def verify_(self) -> None:
        if self.src.type != self.result.type:
            raise VerifyException(f"sorts {self.src.type} into {self.result.type}")


@irdl_op_definition
class TopkOp(NaiadOp):
    """The `k` largest along the last axis in order, largest first.

    The smallest, smallest first, unless `descending`.
    """

    name = "ttn.topk"
    src = operand_def(TensorType)
    k = prop_def(IntegerAttr.constr(type=i32))
    descending = opt_prop_def(UnitAttr)
    signed = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = FORMAT

    def verify_(self) -> None:
        wanted = (*shape(self.src.type)[:-1], self.k.value.data)
        if shape(self.result.type) != wanted or element(self.src.type) != element(self.result.type):
            raise VerifyException(f"the top {self.k.value.data} of {self.src.type} cannot be {self.result.type}")


@irdl_op_definition
class FlipOp(NaiadOp):
    """The elements in reverse order along `axis`."""

    name = "ttn.flip"
    src = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(type=i32))
    result = result_def(TensorType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = FORMAT

    def verify_(self) -> None:
        if self.src.type != self.result.type:
            raise VerifyException(f"flips {self.src.type} into {self.result.type}")


OPS = [SortOp, TopkOp, FlipOp]
