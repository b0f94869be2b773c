"""Masked loads whose masked lanes no one sees."""

import pytest

from naiad.analysis.unseen import unseen_where_masked
from naiad.ir.text import parse
from naiad.ir.tt.memory import LoadOp

KERNEL = """
tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %n: tensor<8xi1>,
                  %one: tensor<8xf32>, %at: tensor<8xi32>, %cell: !tt.ptr<f32>, %wide: tensor<8x!tt.ptr<i32>>) {
  %x = tt.load %p, %m : tensor<8x!tt.ptr<f32>>
  BODY
  tt.return
}
"""
KEPT = {
    "stored as it is": "tt.store %q, %x, %m : tensor<8x!tt.ptr<f32>>",
    "through arithmetic": """
        %y = arith.addf %x, %one : tensor<8xf32>
        %z = arith.mulf %y, %x : tensor<8xf32>
        tt.store %q, %z, %m : tensor<8x!tt.ptr<f32>>
    """,
    "not used": "",
}
SEEN = {
    "stored under another mask": "tt.store %q, %x, %n : tensor<8x!tt.ptr<f32>>",
    "stored under none": "tt.store %q, %x : tensor<8x!tt.ptr<f32>>",
    "once so, once not": """
        tt.store %q, %x, %m : tensor<8x!tt.ptr<f32>>
        tt.store %q, %x, %n : tensor<8x!tt.ptr<f32>>
    """,
    "summed": """
        %s = "tt.reduce"(%x) <{axis = 0 : i32}> ({
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          tt.reduce.return %c : f32
        }) : (tensor<8xf32>) -> f32
        tt.store %cell, %s : !tt.ptr<f32>
    """,
    "as part of an address": """
        %i = arith.fptosi %x : tensor<8xf32> to tensor<8xi32>
        %a = tt.addptr %q, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
        tt.store %a, %one, %m : tensor<8x!tt.ptr<f32>>
    """,
    "divided by, as an integer": """
        %i = tt.bitcast %x : tensor<8xf32> -> tensor<8xi32>
        %d = arith.divsi %at, %i : tensor<8xi32>
        tt.store %wide, %d, %m : tensor<8x!tt.ptr<i32>>
    """,
}


def load_of(body: str) -> LoadOp:
    return next(op for op in parse(KERNEL.replace("BODY", body)).walk() if isinstance(op, LoadOp))


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_lanes_that_end_under_the_loads_mask_are_not_seen(body: str) -> None:
    assert unseen_where_masked(load_of(body))


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_lanes_that_get_elsewhere_are_seen(body: str) -> None:
    assert not unseen_where_masked(load_of(body))


def test_a_load_without_a_mask_has_no_masked_lanes() -> None:
    body = "%z = tt.load %p : tensor<8x!tt.ptr<f32>>\n tt.store %q, %z : tensor<8x!tt.ptr<f32>>"
    loads = [op for op in parse(KERNEL.replace("BODY", body)).walk() if isinstance(op, LoadOp)]
    assert not unseen_where_masked(loads[1])
