"""Laws of linear layouts, on random matrices and random layouts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naiad.layouts import convert, gf2
from naiad.layouts.distributed import Blocked, DotOperand, Linear, Slice, dim_names
from naiad.layouts.draw import by_hardware, by_tensor
from naiad.layouts.linear import LinearLayout
from naiad.layouts.mma import NvidiaMma
from naiad.layouts.shared import NvmmaShared, SwizzledShared, bank_conflicts

MATRIX = st.lists(st.integers(0, 255), min_size=1, max_size=8).map(tuple)


def boxes(total: int, rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    """The ways to deal 2**total over `rank` dimensions."""
    return st.lists(st.integers(0, rank - 1), min_size=total, max_size=total).map(
        lambda dims: tuple(1 << dims.count(d) for d in range(rank))
    )


def blocked(rank: int = 2) -> st.SearchStrategy[Blocked]:
    registers = st.integers(0, 4).flatmap(lambda n: boxes(n, rank))
    return st.builds(Blocked, registers, boxes(5, rank), boxes(2, rank), st.permutations(range(rank)).map(tuple))


SHAPES = st.tuples(*[st.sampled_from([1, 4, 16, 32, 64])] * 2)


@given(MATRIX, st.integers(0, 255), st.integers(0, 255))
def test_apply_is_linear(m: tuple[int, ...], x: int, y: int) -> None:
    assert gf2.apply(m, x) ^ gf2.apply(m, y) == gf2.apply(m, x ^ y)


@given(MATRIX, MATRIX, st.integers(0, 255))
def test_compose_applies_one_after_the_other(a: tuple[int, ...], b: tuple[int, ...], x: int) -> None:
    assert gf2.apply(gf2.compose(a, b), x) == gf2.apply(a, gf2.apply(b, x))


@given(MATRIX, st.integers(0, 255))
def test_solve_finds_what_is_in_the_span(m: tuple[int, ...], x: int) -> None:
    want = gf2.apply(m, x)
    found = gf2.solve(m, want)
    assert found is not None and gf2.apply(m, found) == want


@given(MATRIX)
def test_kernel_has_the_missing_rank(m: tuple[int, ...]) -> None:
    kernel = gf2.kernel(m)
    assert len(kernel) == len(m) - gf2.rank(m) and all(gf2.apply(m, x) == 0 for x in kernel)


@given(MATRIX, MATRIX)
def test_intersection_lies_in_both(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    both = gf2.intersection(a, b)
    assert all(v in gf2.Basis(a) and v in gf2.Basis(b) for v in both)
    assert len(both) == gf2.rank(a) + gf2.rank(b) - gf2.rank(a + b)


@given(MATRIX, MATRIX)
def test_common_complement_meets_neither(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    space = tuple(1 << i for i in range(8))
    c = gf2.common_complement(a, b, space)
    assert gf2.rank(a + c) == gf2.rank(a) + len(c) and gf2.rank(b + c) == gf2.rank(b) + len(c)
    assert max(gf2.rank(a + c), gf2.rank(b + c)) == 8


@given(blocked(), SHAPES)
def test_blocked_covers_the_tensor(layout: Blocked, shape: tuple[int, int]) -> None:
    linear = layout.linear(shape)
    assert linear.surjective and linear.outs.total == (shape[0] * shape[1]).bit_length() - 1


@given(blocked(), SHAPES)
def test_inverse_gives_a_place_that_holds_the_element(layout: Blocked, shape: tuple[int, int]) -> None:
    linear = layout.linear(shape)
    assert linear.inverse().compose(linear).columns == tuple(1 << i for i in range(linear.outs.total))


@given(blocked(3), st.integers(0, 2))
def test_slice_is_the_parent_without_a_dimension(parent: Blocked, dim: int) -> None:
    shape = tuple(s for d, s in enumerate((8, 16, 32)) if d != dim)
    sliced = Slice(dim, parent).linear(shape)
    whole = parent.linear((*shape[:dim], 1, *shape[dim:]))
    for lane in (1, 2, 16, 21):
        at = whole(lane=lane, warp=1)
        left = [at[f"dim{d}"] for d in range(3) if d != dim]
        assert [sliced(lane=lane, warp=1)[n] for n in dim_names(2)] == left


@given(blocked(), SHAPES)
def test_linear_encoding_is_the_same_layout(layout: Blocked, shape: tuple[int, int]) -> None:
    linear = layout.linear(shape)
    assert Linear.of(linear).linear(shape) == linear


@given(blocked(), SHAPES)
def test_divide_undoes_a_product(layout: Blocked, shape: tuple[int, int]) -> None:
    tile = LinearLayout.identity(4, "register", "dim1")
    linear = layout.linear(shape)
    assert (tile * linear).divide(tile) == linear.ordered((tile * linear).outs.names)


LAYOUTS = st.one_of(blocked(), st.sampled_from([
    NvidiaMma((2, 0), (2, 2), (16, 8)), NvidiaMma((3, 0), (4, 1), (16, 32, 16)),
    DotOperand(0, NvidiaMma((2, 0), (2, 2), (16, 8)), 2),
    DotOperand(1, NvidiaMma((2, 0), (2, 2), (16, 8)), 4)]))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(LAYOUTS, LAYOUTS, st.sampled_from([(16, 16), (64, 64), (32, 128), (4, 1)]), st.sampled_from([8, 16, 32, 64]))
def test_plans_move_every_element(a: Blocked, b: Blocked, shape: tuple[int, int], width: int) -> None:
    source, target = a.linear(shape), b.linear(shape)
    move = convert.source_of(source, target)
    assert move.compose(source).columns == target.columns
    match convert.plan(source, target, width):
        case convert.RegisterMove(registers):
            places = [(r, lane, warp) for r in range(len(registers)) for lane in (0, 1, 9, 30) for warp in (0, 3)]
            for r, lane, warp in places:
                here = source.packed(register=registers[r], lane=lane, warp=warp)
                assert here == target.packed(register=r, lane=lane, warp=warp)
        case convert.SharedMove(offset, vec, _):
            assert offset.invertible and vec * width <= 128


@settings(max_examples=60, deadline=None)
@given(blocked(), blocked(), st.sampled_from([8, 16, 32, 64]))
def test_scratch_has_no_bank_conflicts(a: Blocked, b: Blocked, width: int) -> None:
    shape = (64, 64)
    move = convert.scratch(a.linear(shape), b.linear(shape), width)
    for layout in (a.linear(shape), b.linear(shape)):
        at = layout.compose(move.offset)
        addresses = [at(lane=lane)["offset"] * width // 8 for lane in range(32)]
        assert bank_conflicts(addresses, move.vec * width // 8) == 0


@pytest.mark.parametrize("layout", [SwizzledShared(8, 1, 8, (1, 0)), SwizzledShared(4, 2, 4, (0, 1)),
                                    NvmmaShared(128, False, 16), NvmmaShared(64, True, 16),
                                    NvmmaShared(32, False, 8)])  # fmt: skip
def test_shared_layouts_are_permutations(layout: SwizzledShared) -> None:
    assert layout.linear((64, 128)).invertible


def test_nvmma_swizzle_is_the_one_of_the_hardware() -> None:
    """Source: PTX ISA, 128-byte swizzle: 16-byte chunk c of row r lies at chunk c ^ r % 8."""
    offset = NvmmaShared(128, False, 16).linear((64, 64)).inverse()
    for row, chunk in ((0, 3), (5, 2), (13, 7)):
        assert offset(dim0=row, dim1=8 * chunk)["offset"] == row * 64 + (chunk ^ row % 8) * 8


def test_drawings_agree() -> None:
    layout = Blocked((1, 2), (4, 8), (1, 1), (1, 0))
    assert by_tensor(layout, (4, 16)).splitlines()[1].split()[:3] == ["T8:0", "T8:1", "T9:0"]
    assert by_hardware(layout, (4, 16)).splitlines()[9].endswith("(1,2) (1,3)")
