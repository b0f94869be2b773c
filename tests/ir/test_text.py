"""Text of constants, types, ops and locations: what is read is printed back as Triton prints it."""

import math
import random
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, NameLoc, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.utils.exceptions import ParseError

from naiad.ir.attributes import attribute, keyword
from naiad.ir.base import tensor
from naiad.ir.check import IRError, check, place_of
from naiad.ir.constants import SplatAttr, constant, float_text, number, value_attribute
from naiad.ir.evaluate import DTYPES
from naiad.ir.registry import OPS, make_op
from naiad.ir.text import parse, print_module
from tests.ir.text_of import read_and_print


@pytest.mark.parametrize(
    "text",
    ["true", "false", "-3 : i32", "9223372036854775807 : i64", "1.000000e+00 : f32", "0xFF800000 : f32", "0x7E00 : f16",
     "-0.000000e+00 : f32", "dense<0xFF800000> : tensor<4xf32>", "dense<0x7FC00000> : tensor<128x256xf32>",
     "dense<0xFF80> : tensor<4xbf16>", "dense<true> : tensor<4xi1>", "dense<-1> : tensor<2x2xi8>",
     "dense<1.000000e+00> : vector<16xf32>", "dense<0.000000e+00> : tensor<4xf8E4M3FN>",
     "dense<[1, 2]> : tensor<2xi32>"],
)  # fmt: skip
def test_constants(text: str) -> None:
    printed = read_and_print(f"  %c = arith.constant {text}")
    assert f"arith.constant {text}\n" in printed.replace(": tensor<2xi32> loc", ": tensor<2xi32>")


def test_hexadecimal_is_bits() -> None:
    module = parse("tt.func @f() {\n %c = arith.constant dense<0xFF800000> : tensor<4xf32>\n tt.return\n}")
    op = module.body.block.first_op.body.block.first_op
    assert number(op.result) == -math.inf
    assert op.value.value.data == -math.inf


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_floats_survive(kind: str) -> None:
    dtype, random_bits = DTYPES[kind], random.Random(0)
    for _ in range(300):
        bits = random_bits.getrandbits(8 * dtype.itemsize).to_bytes(dtype.itemsize, "little")
        exact = np.frombuffer(bits, dtype)[0]
        if np.isnan(exact.astype(np.float64)):
            continue
        text = float_text(float(exact.astype(np.float64)), dtype)
        value = struct.unpack("<d", struct.pack("<d", float(text)))[0] if "x" not in text else float(exact)
        assert np.float64(value).astype(dtype) == exact, text


def test_splats_are_equal_by_their_bits() -> None:
    t = tensor(f32, (4,))
    assert value_attribute(0.0, t) != value_attribute(-0.0, t)
    assert value_attribute(math.nan, t) == value_attribute(math.nan, t)
    assert isinstance(value_attribute(1, tensor(i64, (2, 2))), SplatAttr)
    assert value_attribute(0.1, f32).value.data == float(np.float32(0.1))
    assert value_attribute(1 / 3, bf16).value.data == float(ml_dtypes.bfloat16(1 / 3))
    assert number(constant(300, i8).result) == 44
    assert number(constant(True, i1).result) is True


FAMILIES = (Path(__file__).parent / "ops.txt").read_text().split("// ----- ")[1:]
OPS_TEXT = {part.splitlines()[0]: part.splitlines()[1:] for part in FAMILIES}
ARGUMENTS = ", ".join([
    "%p: tensor<8x!tt.ptr<f32>>", "%m: tensor<8xi1>", "%o: tensor<8xf32>", "%r: tensor<8xi32>", "%q: !tt.ptr<i32>",
    "%i: i32", "%l: i64", "%c: i1", "%g: !tt.ptr<f32>", "%a: tensor<16x16xf32>", "%b: tensor<16x16xi8>",
    "%s: tensor<16x1xi8>", "%e: tensor<1xf32>"])  # fmt: skip


@pytest.mark.parametrize("family", OPS_TEXT)
def test_ops_print_as_they_are_read(family: str) -> None:
    lines = [line.replace("%s = tt.unsplat", "%n = tt.unsplat") for line in OPS_TEXT[family]]
    printed = read_and_print("\n".join(f"  {line}" for line in lines), ARGUMENTS)
    check(parse(printed), "ttir")
    for line in lines:
        assert f"{line}\n" in printed


def test_locations_round_trip() -> None:
    text = """
    tt.func public @f(%x: i32 loc("x"(#loc))) {
      %y = arith.addi %x, %x : i32 loc(#loc3)
      tt.return loc(#loc1)
    } loc(#loc)
    #loc = loc("k.py":1:0)
    #loc1 = loc("k.py":4:2)
    #loc2 = loc("lib.py":7:1)
    #loc3 = loc(callsite(#loc4 at #loc1))
    #loc4 = loc("y"(#loc2))
    """.replace("\n    ", "\n")
    module = parse(text)
    printed = print_module(module, locations=True)
    again = parse(printed)
    assert print_module(again, locations=True) == printed
    func = again.body.block.first_op
    add = func.body.block.first_op
    assert isinstance(func.body.block.args[0].location, NameLoc)
    assert isinstance(add.location, CallSiteLoc) and isinstance(func.location, FileLineColLoc)
    assert place_of(add.location) == "lib.py:7:1"
    assert "loc(" not in print_module(module)


def test_unreachable_blocks_are_dropped() -> None:
    module = parse("""tt.func private @f(%x: f32) -> f32 {
      tt.return %x : f32
    ^bb1:  // no predecessors
      %p = ub.poison : f32
      tt.return %p : f32
    }""")
    check(module, "ttir")
    assert len(module.body.block.first_op.body.blocks) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('%x = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<4xi32> loc("k.py":3:9)',
         "k.py:3:9: tt.make_range: range holds 8"),
        ("%x = tt.splat %i : i32 -> tensor<4xf32>", "tt.splat: cannot splat i32"),
        ("%x = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<1x8xi32>", "expected a result of shape"),
        ("%x = tt.dot %a, %a, %o : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<8xf32>", "cannot multiply"),
        ("%x = tt.reshape %r : tensor<8xi32> -> tensor<4xi32>", "8 and 4 elements"),
        ("%x = ttc.iota : vector<8xi32>", "does not belong in ttir"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(body: str, message: str) -> None:
    module = parse(f"tt.func @f({ARGUMENTS}) {{\n  {body}\n  tt.return\n}}")
    with pytest.raises(IRError, match=message):
        check(module, "ttir")


def test_dominance() -> None:
    module = parse(
        "tt.func @f(%x: i32, %c: i1) {\n %a = arith.addi %x, %x : i32\n %b = arith.addi %a, %x : i32\n tt.return\n}"
    )
    block = module.body.block.first_op.body.block
    first = block.first_op
    first.detach()
    block.insert_op_before(first, block.last_op)
    with pytest.raises(IRError, match="operand 0 is used where its definition does not reach"):
        check(module)


def test_a_wrong_text_says_where() -> None:
    with pytest.raises(ParseError, match="expected a number"):
        parse("tt.func @f() {\n  %c = arith.constant oops : i32\n  tt.return\n}")


def test_attributes_from_python() -> None:
    load = OPS["tt.load"]
    assert attribute(load, "cache", "cg") == keyword("cg")
    assert attribute(load, "cache", "none") is None and attribute(load, "isVolatile", False) is None
    assert attribute(OPS["tt.atomic_rmw"], "atomic_rmw_op", "xchg") == keyword("exch")
    assert attribute(OPS["tt.make_range"], "end", 8).value.data == 8
    assert attribute(OPS["tt.trans"], "order", (1, 0)).get_values() == (1, 0)
    assert attribute(OPS["arith.cmpf"], "predicate", "une") == keyword("une")
    with pytest.raises(ValueError, match=r"tt\.load: cache must be one of none, ca.* got 'fast'"):
        attribute(load, "cache", "fast")


def test_make_op_makes_any_op() -> None:
    one = make_op("arith.constant", results=[i32], value=value_attribute(1, i32))
    poison = make_op("ub.poison", results=[f64])
    assert one.result.type == i32 and poison.results[0].type == f64
    assert all(name == op.name for name, op in OPS.items()) and f16 is not None
