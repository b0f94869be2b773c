"""Which ops the functions of the language ask for, with which types and attributes."""

import pytest

import naiad.language as tl
from naiad.language.builder import building
from naiad.language.values import handles_of
from tests.language.recording import Recorder


@pytest.fixture
def r():
    recorder = Recorder()
    with building(recorder):
        yield recorder


def tile(r, element, *shape):
    return r.argument(tl.block_type(element, shape))


def pointers(r, element, *shape):
    return tile(r, tl.pointer_type(element), *shape)


CASTS = [  # from, to, ops
    (tl.int32, tl.uint32, []),
    (tl.int32, tl.int8, ["arith.trunci"]),
    (tl.uint8, tl.int32, ["arith.extui"]),
    (tl.int8, tl.uint32, ["arith.extsi"]),
    (tl.int1, tl.int32, ["arith.extui"]),
    (tl.int32, tl.int1, ["arith.cmpi"]),
    (tl.float32, tl.int1, ["arith.cmpf"]),
    (tl.float32, tl.float16, ["arith.truncf"]),
    (tl.bfloat16, tl.float32, ["arith.extf"]),
    (tl.bfloat16, tl.float16, ["arith.extf", "arith.truncf"]),
    (tl.float16, tl.int32, ["arith.extf", "arith.fptosi"]),
    (tl.float64, tl.uint8, ["arith.fptoui"]),
    (tl.uint32, tl.bfloat16, ["arith.uitofp"]),
    (tl.int16, tl.float64, ["arith.sitofp"]),
    (tl.float32, tl.float8e5, ["tt.fp_to_fp"]),
    (tl.float8e4nv, tl.float16, ["tt.fp_to_fp"]),
    (tl.float8e4nv, tl.int32, ["tt.fp_to_fp", "arith.fptosi"]),
    (tl.int32, tl.float8e5, ["arith.sitofp", "tt.fp_to_fp"]),
    (tl.pointer_type(tl.int8), tl.int64, ["tt.ptr_to_int"]),
    (tl.int64, tl.pointer_type(tl.int8), ["tt.int_to_ptr"]),
    (tl.pointer_type(tl.int8), tl.pointer_type(tl.int32), ["tt.bitcast"]),
]


@pytest.mark.parametrize(("source", "target", "ops"), CASTS)
def test_cast(source, target, ops, r):
    result = tile(r, source, 8).to(target)
    assert result.dtype == target and result.type == tl.block_type(target, [8])
    assert r.names == ops


def test_rounding(r):
    x = tile(r, tl.float32, 8)
    x.to(tl.float8e5)
    assert r.last("tt.fp_to_fp").attributes == {"rounding": "rtne"}
    x.to(tl.float16, fp_downcast_rounding="rtz")
    assert r.last("tt.fp_to_fp").attributes == {"rounding": "rtz"}
    tile(r, tl.float8e5, 8).to(tl.float32)
    assert r.last("tt.fp_to_fp").attributes == {}


OPERATORS = [
    (tl.int32, lambda a, b: a + b, "arith.addi"),
    (tl.float32, lambda a, b: a - b, "arith.subf"),
    (tl.int32, lambda a, b: a // b, "arith.divsi"),
    (tl.uint32, lambda a, b: a // b, "arith.divui"),
    (tl.int32, lambda a, b: a % b, "arith.remsi"),
    (tl.float32, lambda a, b: a % b, "arith.remf"),
    (tl.float32, lambda a, b: a / b, "arith.divf"),
    (tl.int32, lambda a, b: a >> b, "arith.shrsi"),
    (tl.uint32, lambda a, b: a >> b, "arith.shrui"),
    (tl.int32, lambda a, b: a << b, "arith.shli"),
    (tl.int32, lambda a, b: a ^ b, "arith.xori"),
    (tl.float32, lambda a, b: tl.maximum(a, b), "arith.maxnumf"),
    (tl.float32, lambda a, b: tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL), "arith.minimumf"),
    (tl.uint32, lambda a, b: tl.maximum(a, b), "arith.maxui"),
    (tl.int32, lambda a, b: tl.umulhi(a, b), "tt.mulhiui"),
    (tl.float32, lambda a, b: tl.div_rn(a, b), "tt.precise_divf"),
    (tl.float32, lambda a, b: tl.fdiv(a, b), "arith.divf"),
]


@pytest.mark.parametrize(("element", "function", "op"), OPERATORS)
def test_binary(element, function, op, r):
    a, b = tile(r, element, 8), r.argument(element)
    assert function(a, b).type == a.type
    assert r.names == ["tt.splat", op]
    assert function(b, a).type == a.type


@pytest.mark.parametrize(
    ("element", "predicates"), [(tl.int8, ("slt", "ne")), (tl.uint8, ("ult", "ne")), (tl.float16, ("olt", "une"))]
)
def test_comparison(element, predicates, r):
    a = tile(r, element, 8)
    for compared, predicate in zip((a < a, a != a), predicates, strict=True):
        assert compared.type == tl.block_type(tl.int1, [8])
        assert predicate in [e.attributes.get("predicate") for e in r.ops]


def test_integers_divide_to_fp32(r):
    assert (tile(r, tl.int64, 8) / 2).dtype == tl.float32


def test_minus_keeps_the_sign_of_zero(r):
    _ = -tile(r, tl.float32, 8)
    assert r.names == ["arith.subf"] and str(r.ops[0].attributes["value"]) == "-0.0"


def test_unsigned_offsets_stay_positive(r):
    """tt.addptr reads its offset as signed."""
    _ = r.argument(tl.pointer_type(tl.int8)) + r.argument(tl.uint32)
    assert r.names == ["arith.extui", "tt.addptr"]


def test_sanitized_arithmetic(r):
    r.options.sanitize_overflow = True
    a = tile(r, tl.int32, 8)
    _ = a + a
    assert r.last("tt.assert").attributes == {"message": "int32 overflow detected for operation add"}
    count = len(r.ops)
    tl.add(a, a, sanitize_overflow=False)
    assert len(r.ops) == count + 1


def test_a_bool_in_memory_is_a_byte(r):
    p = pointers(r, tl.int1, 8)
    loaded = tl.load(p)
    assert loaded.dtype == tl.int1 and r.names == ["tt.bitcast", "tt.load", "arith.cmpi"]
    assert r.last("tt.load").type == tl.block_type(tl.int8, [8])
    before = len(r.ops)
    tl.store(p, tile(r, tl.int32, 8))
    names = [e.op for e in r.ops[before:] if e.op != "arith.constant"]
    assert names == ["arith.cmpi", "arith.extui", "tt.bitcast", "tt.store"]  # any non-zero number is True


def test_load(r):
    p = pointers(r, tl.float32, 8, 1)
    x = tl.load(p, mask=tile(r, tl.int1, 8, 4), other=0, cache_modifier=".cg", eviction_policy="evict_last")
    assert x.type == tl.block_type(tl.float32, [8, 4])
    assert r.last("tt.load").attributes == {"cache": "cg", "evict": "evict_last", "isVolatile": False}
    assert None not in r.last("tt.load").operands
    tl.load(p, mask=True)
    assert r.last("tt.load").operands[2] is None


def test_block_pointers(r):
    base, n = r.argument(tl.pointer_type(tl.float16)), r.argument(tl.int32)
    block = tl.make_block_ptr(base, (n, 8), (8, 1), (0, n), (16, 8), (1, 0))
    made = r.last("tt.make_tensor_ptr")
    assert made.attributes == {"order": (1, 0)} and len(made.operands) == 7
    assert tl.load(block, boundary_check=(1, 0), padding_option="nan").type == tl.block_type(tl.float16, [16, 8])
    assert r.last("tt.load").attributes["boundaryCheck"] == (0, 1)
    assert r.last("tt.load").attributes["padding"] == "nan"
    assert tl.advance(block, (0, n)).type == block.type


def test_descriptors(r):
    base, n = r.argument(tl.pointer_type(tl.float16)), r.argument(tl.int32)
    descriptor = tl.make_tensor_descriptor(base, [n, n], [n, 1], [1, 32])
    assert descriptor.shape[0].dtype == tl.int32 and descriptor.strides[1].dtype == tl.int64
    assert len(handles_of(descriptor)) == 5 and descriptor.block_shape[1].value == 32
    assert tl.load_tensor_descriptor(descriptor, [0, n]).type == tl.block_type(tl.float16, [1, 32])
    descriptor.store([0, n], tile(r, tl.float32, 1, 32))
    assert r.names[-2:] == ["arith.truncf", "tt.descriptor_store"]
    descriptor.atomic_add([0, 0], tile(r, tl.float16, 1, 32))
    assert r.last("tt.descriptor_reduce").attributes == {"kind": "add"}
    assert descriptor.gather(tile(r, tl.int32, 8), 0).type == tl.block_type(tl.float16, [8, 32])
    descriptor.scatter(tile(r, tl.float16, 8, 32), tile(r, tl.int32, 8), 0)
    assert r.names[-1] == "tt.descriptor_scatter"


def test_atomics(r):
    p = pointers(r, tl.float32, 8)
    assert tl.atomic_add(p, 1, mask=True, sem="relaxed", scope="sys").dtype == tl.float32
    assert r.last("tt.atomic_rmw").attributes == {"atomic_rmw_op": "fadd", "sem": "relaxed", "scope": "sys"}
    before = len(r.ops)
    assert tl.atomic_max(p, tile(r, tl.float32, 8)).dtype == tl.float32
    kinds = [e.attributes["atomic_rmw_op"] for e in r.ops[before:] if e.op == "tt.atomic_rmw"]
    assert kinds == ["max", "umin"]
    tl.atomic_min(pointers(r, tl.uint32, 8), 1)
    assert r.last("tt.atomic_rmw").attributes["atomic_rmw_op"] == "umin"
    assert tl.atomic_cas(r.argument(tl.pointer_type(tl.int64)), 0, 1).dtype == tl.int64


def test_reductions(r):
    x = tile(r, tl.int8, 4, 8)
    assert tl.sum(x, 1).type == tl.block_type(tl.int32, [4])
    assert tl.sum(x).type == tl.int32
    assert tl.sum(x, keep_dims=True).type == tl.block_type(tl.int32, [1, 1])
    assert x.max(0, keep_dims=True).type == tl.block_type(tl.int32, [1, 8])
    value, index = tl.max(tile(r, tl.bfloat16, 4, 8), -1, return_indices=True)
    assert value.type == tl.block_type(tl.float32, [4]) and index.type == tl.block_type(tl.int32, [4])
    assert r.last("tt.reduce").attributes == {"axis": 1} and len(r.last("tt.reduce").body) == 2
    assert tl.cumsum(x, 1, reverse=True).type == tl.block_type(tl.int32, [4, 8])
    assert r.last("tt.scan").attributes == {"axis": 1, "reverse": True}
    assert tl.histogram(tile(r, tl.int32, 64), 16, mask=tile(r, tl.int1, 64)).type == tl.block_type(tl.int32, [16])


def test_map_elementwise(r):
    def both(a0, a1, b0, b1):
        return a0 + b0, a1 + b1, a0 > b0, a1 > b1

    total, larger = tl.map_elementwise(tl.core.constexpr(_jit(both)).value, tile(r, tl.int32, 8), 3, pack=2)
    assert total.type == tl.block_type(tl.int32, [8]) and larger.type == tl.block_type(tl.int1, [8])
    assert r.last("tt.map_elementwise").attributes == {"pack": 2}


def test_combiners_may_give_constants(r):
    def one(a, b):
        return tl.constexpr(1)

    assert tl.map_elementwise(_jit(one), tile(r, tl.float32, 8), 3).type == tl.block_type(tl.int32, [8])
    assert tl.reduce(tile(r, tl.float32, 8), 0, _jit(one)).type == tl.float32


def _jit(fn):
    from naiad.language.function import Function

    return Function(fn)


def test_dot(r):
    a, b = tile(r, tl.int8, 16, 32), tile(r, tl.int8, 32, 16)
    assert tl.dot(a, b).type == tl.block_type(tl.int32, [16, 16])
    batched = tl.dot(tile(r, tl.float16, 2, 2, 16, 16), tile(r, tl.float16, 2, 2, 16, 16), out_dtype=tl.float16)
    assert batched.type == tl.block_type(tl.float16, [2, 2, 16, 16])
    assert r.last("tt.dot").type == tl.block_type(tl.float16, [4, 16, 16])
    f = tile(r, tl.float32, 16, 16)
    tl.dot(f, f, acc=f, allow_tf32=False)
    assert r.last("tt.dot").attributes == {"inputPrecision": "ieee", "maxNumImpreciseAcc": 0}
    packed, scale = tile(r, tl.uint8, 32, 32), tile(r, tl.uint8, 32, 2)
    scaled = tl.dot_scaled(packed, scale, "e2m1", tile(r, tl.uint8, 64, 32), None, "e4m3")
    assert scaled.type == tl.block_type(tl.float32, [32, 32]) and r.last("tt.dot_scaled").operands[4] is None


def test_shapes(r):
    x = tile(r, tl.float32, 4, 8)
    assert x.T.type.shape == (8, 4) and x[None, :, :, None].type.shape == (1, 4, 8, 1)
    assert tl.cat(x, x, dim=1).type.shape == (4, 16) and tl.cat(x, x).type.shape == (8, 8)
    assert tl.interleave(x, x).type.shape == (4, 16) and tl.join(1, 2).type.shape == (2,)
    assert [half.type for half in tl.split(tile(r, tl.int32, 2))] == [tl.int32, tl.int32]
    assert x.reshape((2, 16)).type.shape == x.reshape(2, 16).type.shape == (2, 16)
    assert x.unsqueeze(0).squeeze(0).type == x.type and x.ravel().type.shape == (32,)
    assert tl.sort(x, dim=0, descending=True).type == x.type
    assert tl.topk(x, 2).type.shape == (4, 2) and tl.topk(x, 2, dim=0).type.shape == (2, 8)
    assert tl.flip(x, 0).type == x.type and r.last("ttn.flip").attributes == {"axis": 0}


@pytest.mark.parametrize(
    ("prefix", "values", "printed"),
    [("a", 1, " a: "), ("", 1, ": "), ("x: ", 1, " x: "), ("a ", 1, " a: "), ("done", 0, " done"), ("b:", 1, " b: ")],
)
def test_print(prefix, values, printed, r):
    tl.device_print(prefix, *[r.argument(tl.uint32)] * values, hex=True)
    wanted = {"prefix": printed, "hex": True, "isSigned": (0,) * values}
    assert r.last("tt.print").attributes == wanted


def test_assertions_need_the_option(r):
    tl.device_assert(r.argument(tl.int1), "no")
    assert r.names == ["tt.assert"]
    r.options.debug = False
    tl.device_assert(r.argument(tl.int1), "no")
    assert r.names == ["tt.assert"]


def test_promises(r):
    x = tile(r, tl.int32, 8)
    assert tl.multiple_of(x, 16) is x and tl.max_contiguous(x, [8]) is x
    assert r.promises == [(x.handle, "tt.divisibility", (16,)), (x.handle, "tt.contiguity", (8,))]
    with pytest.raises(ValueError, match="does not match the length of values"):
        tl.max_constancy(x, [1, 2])


def test_device_library(r):
    x = tile(r, tl.float32, 8)
    assert tl.extra.libdevice.pow(x, 2).type == x.type
    assert r.last("tt.extern_elementwise").attributes["symbol"] == "__nv_powif"
    assert tl.extra.cuda.libdevice.isnan(x).dtype == tl.int32
    assert tl.extra.hip.libdevice.j0(x).dtype == tl.float32
    assert r.last("tt.extern_elementwise").attributes["symbol"] == "__ocml_j0_f32"
    with pytest.raises(ValueError, match="input arg type does not match"):
        tl.extra.libdevice.sin(tile(r, tl.float16, 8))
    with pytest.raises(AttributeError):
        _ = tl.extra.libdevice.nothing


def test_max_and_min_of_python(r):
    assert tl.core.builtin_max(1, 2, -3) == 2 and tl.core.builtin_min((4, 3)) == 3
    assert tl.core.builtin_max(r.argument(tl.int32), 4).dtype == tl.int32
    for bad in (float("nan"), -0.0):
        with pytest.raises(AssertionError):
            tl.core.builtin_min(1.0, bad)


def test_every_op_is_one_of_the_ir(r):
    """What the language asks for, the IR has."""
    from naiad.ir.registry import OPS

    x, i = tile(r, tl.float32, 16), tile(r, tl.int32, 16)
    for function in (tl.exp, tl.exp2, tl.log, tl.log2, tl.sin, tl.cos, tl.sqrt, tl.sqrt_rn, tl.rsqrt, tl.erf, tl.floor):
        function(x)
    tl.ceil(x), tl.abs(x), tl.abs(i), tl.fma(x, x, x), tl.clamp(x, 0.0, 1.0), tl.softmax(x, 0), tl.randn(1, i)
    test_shapes(r), test_dot(r), test_reductions(r), test_atomics(r), test_descriptors(r), test_block_pointers(r)
    tl.debug_barrier(), tl.assume(r.argument(tl.int1)), tl.program_id(0), tl.num_programs(2)
    tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    assert sorted({e.op for e in r.ops} - set(OPS)) == []
