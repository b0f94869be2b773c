"""Programs that read and write through indices, and pooling and resampling, which are indices in disguise."""

import torch
import torch.nn.functional as F

from tests.inductor.case import Program, case


@case()
def embedding() -> Program:
    return Program(lambda w, i: F.embedding(i, w) * 2 + 1, (torch.randn(30, 40), torch.randint(0, 30, (5, 6))))


@case(slow=False)
def gather_scatter() -> Program:
    def fn(x, i, src):
        return (
            x.gather(1, i), x.scatter(1, i, src), torch.zeros_like(x).scatter_add(1, i, src), x[i[0]], x[:, i[1]],
            x.index_select(0, i[2]), torch.take_along_dim(x, i, 1), x.index_add(0, i[0], src[:, :20].repeat(2, 1)[:13]),
        )  # fmt: skip

    x = torch.randn(20, 20)
    i = torch.stack([torch.randperm(20)[:13] for _ in range(20)])
    return Program(fn, (x, i, torch.randn(20, 20)[:, :13].repeat(1, 2)[:, :20].contiguous()), kernels=2)


@case()
def index_put() -> Program:
    def fn(x, rows, columns, values):
        y = x.clone()
        y[rows, columns] += values
        z = x.index_put((rows,), values[:, None].expand(-1, x.shape[1]), accumulate=True)
        return y, z, x[rows, columns], x[-rows - 1]

    return Program(fn, (torch.randn(11, 23), torch.tensor([0, 3, 3, 10]), torch.tensor([5, 2, 7, 22]), torch.randn(4)))


@case()
def scatter_reduce() -> Program:
    def fn(x, i, src):
        return [x.scatter_reduce(0, i, src, reduce=how) for how in ("sum", "amax", "amin", "mean", "prod")]

    return Program(fn, (torch.randn(9), torch.randint(0, 9, (40,)), torch.randn(40)))


@case()
def half_scatter() -> Program:
    def fn(i, src):
        return torch.zeros(9, 8, dtype=src.dtype).index_add(0, i, src), torch.zeros(9, 8, dtype=src.dtype)[i] + src

    i = torch.randint(0, 9, (20,))
    return Program(fn, (i, torch.randn(20, 8).bfloat16()), more=((i, torch.randint(0, 9, (20, 8))),), exact=False)


@case()
def rolls() -> Program:
    def fn(x):
        return x.roll(3, 1), x.flip(0), torch.diagonal(x), x.repeat(2, 3), x.repeat_interleave(2, 1), torch.rot90(x)

    return Program(fn, (torch.randn(12, 15),))


@case()
def one_hot() -> Program:
    def fn(i, edges, x):
        return F.one_hot(i, 11), torch.bucketize(x, edges), torch.searchsorted(edges, x, right=True), i.bincount()

    return Program(fn, (torch.randint(0, 11, (40,)), torch.randn(9).sort()[0], torch.randn(30)))


@case()
def pooling() -> Program:
    def fn(x):
        return (
            F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (3, 4)), F.max_pool2d(x, 3, 1, 1),
            F.adaptive_max_pool2d(x, 2), F.max_pool2d(x, 2, return_indices=True)[1],
        )  # fmt: skip

    return Program(fn, (torch.randn(2, 3, 14, 17),))


@case()
def resampling() -> Program:
    def fn(x):
        return (
            F.interpolate(x, scale_factor=2), F.interpolate(x, (9, 5), mode="bilinear"), F.pixel_shuffle(x, 2),
            F.interpolate(x, scale_factor=1.5, mode="bicubic"), F.pad(x, (2, 2, 1, 1), mode="reflect"),
        )  # fmt: skip

    return Program(fn, (torch.randn(2, 4, 6, 7),))


@case()
def grid_sample() -> Program:
    return Program(
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        (torch.randn(2, 3, 8, 9), torch.rand(2, 5, 4, 2) * 2.4 - 1.2),
    )


@case()
def rotary() -> Program:
    def fn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin, torch.view_as_real(torch.view_as_complex(x.view(2, 7, 3, 8, 2)))

    return Program(fn, (torch.randn(2, 7, 3, 16), torch.randn(7, 1, 16), torch.randn(7, 1, 16)))
