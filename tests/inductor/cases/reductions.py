"""Reductions, normalisations, scans and sorts."""

import torch
import torch.nn.functional as F

from tests.inductor.case import Program, case


@case(slow=False)
def softmax() -> Program:
    return Program(lambda x: ((x * 2 + 1).softmax(-1), x.log_softmax(0)), (torch.randn(20, 301),))


@case()
def rows() -> Program:
    def fn(x):
        return (
            x.sum(1), x.mean(1), x.amax(1), x.amin(1), x.var(1), x.std(1, correction=0), x.prod(1), x.logsumexp(1),
            (x > 0).any(1), (x > -3).all(1), x.argmax(1), x.argmin(1), x.norm(dim=1), x.abs().sum(1), (x > 1).sum(1),
            x.norm(p=1, dim=1), x.count_nonzero(1), x.sum(1, keepdim=True) / x.shape[1],
        )  # fmt: skip

    return Program(fn, (torch.randn(13, 70),))


@case()
def columns() -> Program:
    def fn(x):
        return x.sum(0), x.mean(0), x.amax(0), x.var(0), x.argmax(0), x.logsumexp(0), x.sum((0, 2)), x.argmin(1)

    return Program(fn, (torch.randn(40, 30, 9),))


@case()
def everything() -> Program:
    def fn(x):
        return x.sum(), x.var(), x.abs().max(), x.mean(), x.argmax(), x.norm(), torch.std_mean(x), x.aminmax()

    return Program(fn, (torch.randn(300, 1000),), kernels=2)


@case()
def long_rows() -> Program:
    return Program(lambda x: (x.sum(1), x.var(1), x.softmax(1), x.argmax(1), x.amin(1)), (torch.randn(3, 50001),))


@case()
def ties_and_nans() -> Program:
    x = torch.randint(0, 3, (20, 50)).float()
    y = torch.randn(20, 50)
    y[3, 7] = y[5, 0] = float("nan")
    y[6] = float("-inf")
    return Program(
        lambda x, y: (x.argmax(1), x.argmin(0), y.amax(1), y.argmax(1), y.max(1), y.softmax(1), y.logsumexp(0)), (x, y)
    )


@case()
def integer_sums() -> Program:
    x = torch.randint(-99, 99, (17, 90))
    return Program(
        lambda x: (x.sum(1), x.amax(0), x.prod(1), x.argmax(1), x.float().mean(), x.any()),
        (x,),
        more=((x.int(),), (x.to(torch.int8),)),
    )


@case()
def half_reductions() -> Program:
    def fn(x):
        return x.sum(1), x.mean(0), x.amax(1), x.var(1), x.softmax(1), x.argmax(0), F.layer_norm(x, (90,)), x.norm()

    x = torch.randn(30, 90)
    return Program(fn, (x.bfloat16(),), more=((x.half(),),))


@case(slow=False)
def layer_norm() -> Program:
    return Program(
        lambda x, w, b: F.layer_norm(x, (90,), w, b).relu(), (torch.randn(20, 90), torch.randn(90), torch.randn(90))
    )


@case()
def rms_norm() -> Program:
    def fn(x, w):
        return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * w, F.rms_norm(x, (333,), w)

    return Program(fn, (torch.randn(2, 5, 333), torch.randn(333)))


@case()
def group_norm() -> Program:
    return Program(
        lambda x, w, b: (F.group_norm(x, 4, w, b), F.instance_norm(x)),
        (torch.randn(2, 12, 5, 7), torch.randn(12), torch.randn(12)),
    )


@case()
def batch_norm() -> Program:
    def fn(x, mean, var, w, b):
        return F.batch_norm(x, mean, var, w, b, training=True), F.batch_norm(x, mean, var, w, b), mean, var

    return Program(
        fn, (torch.randn(6, 8, 5, 3), torch.zeros(8), torch.ones(8), torch.randn(8), torch.randn(8)), kernels=2
    )


@case()
def scans() -> Program:
    def fn(x):
        return x.cumsum(1), x.cumprod(1), x.cumsum(0), x.logcumsumexp(1), x.cummax(1), x.cummin(1), (x > 0).cumsum(1)

    return Program(fn, (torch.randn(20, 60),))


@case()
def long_scan() -> Program:
    return Program(lambda x, y: (x.cumsum(0), y.cumsum(1) * 2), (torch.randn(20000), torch.randint(0, 9, (3, 5000))))


@case()
def sorts() -> Program:
    def fn(x, k):
        return (
            x.sort(1),
            x.sort(1, descending=True),
            k.sort(dim=1, stable=True),
            x.argsort(0),
            x.topk(5, 1),
            x.median(1),
        )

    return Program(fn, (torch.randn(10, 60), torch.randint(0, 7, (10, 60))))


@case()
def fused_epilogues() -> Program:
    def fn(x, y):
        total = (x * y).sum(-1, keepdim=True)
        return (x - total) * y, (x.exp() / x.exp().sum(1, keepdim=True)).log().mean(), (x - x.mean(0)).pow(2).sum(0)

    return Program(fn, (torch.randn(31, 65), torch.randn(31, 65)))


@case()
def distances() -> Program:
    def fn(x, y):
        return (
            torch.cdist(x, y), F.cosine_similarity(x[:5], y[:5]), F.normalize(x), F.pairwise_distance(x[:5], y[:5]),
            F.mse_loss(x[:5], y[:5]), F.kl_div(x[:5].log_softmax(1), y[:5].softmax(1), reduction="batchmean"),
            F.smooth_l1_loss(x[:5], y[:5]), F.huber_loss(x[:5], y[:5]),
            F.binary_cross_entropy_with_logits(x, x.sigmoid()),
        )  # fmt: skip

    return Program(fn, (torch.randn(9, 21), torch.randn(6, 21)))
