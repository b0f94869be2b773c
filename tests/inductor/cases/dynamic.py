"""Programs compiled once for many sizes."""

import torch
import torch.nn.functional as F

from tests.inductor.case import Program, case
from tests.inductor.cases.models import Block


def sizes(*rows: int, columns: int = 33) -> list[tuple[torch.Tensor]]:
    return [(torch.randn(n, columns),) for n in rows]


@case()
def pointwise() -> Program:
    first, *more = sizes(7, 8, 100, 1001, 1)
    return Program(lambda x: F.gelu(x) + x.shape[0], first, dynamic=True, more=tuple(more))


@case()
def reductions() -> Program:
    first, *more = sizes(7, 90, 300)
    return Program(lambda x: (x.softmax(0), x.sum(1), x.mean(), x.argmax(0)), first, dynamic=True, more=tuple(more))


@case()
def marked() -> Program:
    """One compilation answers for all sizes of the dimension that was marked."""
    seen = []

    def backend_counts(x):
        seen.append(x.shape)
        return (x * 2).softmax(-1).sum(0)

    def check(_, compiled):
        for n in (5, 12, 77):
            x = torch.randn(n, 40)
            torch._dynamo.mark_dynamic(x, 0)
            torch.testing.assert_close(compiled(x), (x * 2).softmax(-1).sum(0))
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1

    torch._dynamo.utils.counters.clear()
    x = torch.randn(9, 40)
    torch._dynamo.mark_dynamic(x, 0)
    return Program(lambda x: (x * 2).softmax(-1).sum(0), (x,), dynamic=None, check=check)


@case()
def block() -> Program:
    more = tuple((torch.randn(b, n, 32),) for b, n in ((3, 9), (2, 40)))
    return Program(Block(32, 4), (torch.randn(2, 17, 32),), dynamic=True, more=more, kernels=3)


@case()
def training() -> Program:
    more = ((torch.randn(30, 33, requires_grad=True),),)
    return Program(
        lambda x: F.layer_norm(x, (33,)).relu(),
        (torch.randn(9, 33, requires_grad=True),),
        train=True,
        dynamic=True,
        more=more,
    )
