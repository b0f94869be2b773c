"""Values known when a kernel is compiled: constexpr, tuples, types, aggregates, and functions to be compiled."""

from typing import NamedTuple

import pytest

import naiad.language as tl
from naiad.language.builder import building
from naiad.language.constexpr_function import constexpr_function
from naiad.language.function import Function
from naiad.language.signature import str_to_ty
from naiad.language.tuples import as_value
from naiad.language.values import handle_types, handles_of
from tests.language.recording import Recorder


def test_constexpr_arithmetic_is_pythons():
    seven, two = tl.constexpr(7), tl.constexpr(2)
    assert (-seven // two).value == -4
    assert (-7 % two).value == 1
    assert (seven / two).value == 3.5
    assert (2**two).value == 4
    assert (1 << two).value == 4
    assert (6 & seven).value == 6
    assert bool(seven > two) and not bool(seven == two)
    assert list(range(two)) == [0, 1]
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert tl.constexpr((1, 2))[1] == 2
    assert len({tl.constexpr(1), tl.constexpr(1)}) == 1
    assert repr(seven) == "constexpr[7]"


def test_types_are_values():
    assert tl.float32 == tl.dtype("fp32") and hash(tl.float32) == hash(tl.dtype("fp32"))
    assert tl.float32 != tl.int32
    assert tl.pointer_type(tl.int8) == tl.pointer_type(tl.int8) != tl.pointer_type(tl.int8, const=True)
    assert tl.block_type(tl.int8, [4]) == tl.block_type(tl.int8, (tl.constexpr(4),))
    assert repr(tl.bfloat16) == "triton.language.bfloat16" and str(tl.bfloat16) == "bf16"
    assert tl.float16.fp_mantissa_width == 10 and tl.int8.primitive_bitwidth == 8
    assert tl.int1.is_int_unsigned() and tl.int1.is_bool() and tl.float8e5.is_fp8e5()
    assert tl.uint8.get_int_max_value() == 255 and tl.int8.get_int_min_value() == -128
    with pytest.raises(TypeError, match="0d block_type is forbidden"):
        tl.block_type(tl.int8, [])
    with pytest.raises(ValueError, match="exceeds triton maximum tensor numel"):
        tl.block_type(tl.int8, [2**21])


def test_types_from_text():
    assert str_to_ty("*kfp16") == tl.pointer_type(tl.float16, const=True)
    assert str_to_ty("u64") == tl.uint64
    assert str_to_ty("i1") == tl.int1
    assert str_to_ty("constexpr", 3) == tl.constexpr_type(3)
    assert str_to_ty(("i32", "*i8")) == tl.tuple_type([tl.int32, tl.pointer_type(tl.int8)])
    descriptor = str_to_ty("tensordesc<fp16[64,32]>")
    assert descriptor.block_type == tl.block_type(tl.float16, [64, 32])
    assert handle_types(descriptor)[1:] == [tl.int32, tl.int32, tl.int64, tl.int64]
    with pytest.raises(ValueError, match="'i7' is not a type"):
        str_to_ty("i7")


class Point(NamedTuple):
    x: int
    y: int


def test_tuples():
    pair = tl.tuple(Point(1, tl.constexpr(2)))
    assert pair.x.value == 1 and pair.y.value == 2
    assert pair[-1].value == 2 and len(pair) == 2
    assert bool(pair == (1, 2)) and not bool(pair == (1, 3))
    assert bool(pair[1:] + tl.tuple((5,)) == (2, 5))
    assert bool(tl.tuple([0]) + pair == (0, 1, 2))
    assert bool(pair * 2 == (1, 2, 1, 2))
    assert bool(pair == tl.constexpr((1, 2))) and bool(pair != tl.constexpr((1, 3)))
    assert bool(pair != tl.constexpr(1)) and bool(pair != tl.constexpr(None)) and bool(pair != tl.constexpr("ab"))
    with pytest.raises(AttributeError, match="no field 'z'"):
        _ = pair.z


def test_values_come_apart_and_together():
    recorder = Recorder()
    type = tl.tuple_type([tl.int32, tl.constexpr_type(4), tl.tuple_type([tl.float32])])
    value = recorder.argument(type)
    assert value.type == type
    assert handles_of(value) == ["%1", "%2"]
    again = value._like(["%8", "%9"])
    assert again[2][0].handle == "%9" and again[1].value == 4


def test_functions():
    def add(x, n: tl.constexpr = 3, *, y: "tl.constexpr"):
        return x + n + y

    function = Function(add)
    assert function.arg_names == ["x", "n", "y"]
    assert [p.is_constexpr for p in function.params] == [False, True, True]
    assert function.params[1].default == 3 and function.params[2].keyword_only
    assert function.src.startswith("def add(")
    assert function.parse().body[0].lineno == 1
    with open(function.file_name) as file:
        assert "def add(" in file.readlines()[function.def_line_number - 1]


def test_constexpr_functions():
    @constexpr_function
    def twice(x, plus=0):
        return 2 * x + plus

    assert twice(4) == 8
    assert twice(tl.constexpr(4), plus=tl.constexpr(1)) == 9


@tl.aggregate
class Window:
    base: tl.tensor
    size: tl.constexpr = 64

    @constexpr_function
    def half(self):
        return self.size // 2

    @Function
    def shifted(self, by):
        return self.base + by


@tl.aggregate
class Named(Window):
    name: "tl.constexpr"


def test_aggregates():
    recorder = Recorder()
    base = recorder.argument(tl.int32)
    window = Window(base)
    assert window.size.value == 64 and window.half().value == 32
    assert handles_of(window) == [base.handle]
    assert window._like(["%9"]).base.handle == "%9"
    assert window.type.mangle() == f"{Window.__module__}.Window<i32, c64>"
    with building(recorder):
        assert window.shifted(1).dtype == tl.int32
        assert Window(3).base.dtype == tl.int32
    assert isinstance(Window.shifted, Function)
    named = Named(base, 8, "left")
    assert isinstance(named, Window) and named.name.value == "left" and named.half().value == 4


def test_aggregates_do_not_change():
    window = Window(Recorder().argument(tl.int32), 8)
    with pytest.raises(AttributeError, match="cannot assign to field 'size' on immutable aggregate"):
        window.size = tl.constexpr(9)
    changed = tl.aggregate_replace(window, size=9)
    assert changed.size.value == 9 and window.size.value == 8 and changed.base is window.base
    with pytest.raises(TypeError, match="has no field 'z'"):
        tl.aggregate_replace(window, z=1)
    with pytest.raises(TypeError, match="expects an aggregate instance"):
        tl.aggregate_replace(42, x=1)


def test_aggregates_with_their_own_constructor():
    @tl.aggregate
    class Scaled:
        x: tl.constexpr
        y: tl.constexpr

        def __init__(self, x, _semantic=None):
            self.x = tl.constexpr(x + 1)

        def __post_init__(self):
            self.y = self.x * 2

    assert Scaled(10).y.value == 22

    @tl.aggregate
    class Forgetful:
        x: tl.constexpr

        def __init__(self):
            pass

    with pytest.raises(AttributeError, match="did not initialize attribute 'x'"):
        Forgetful()
    with pytest.raises(AttributeError, match="has no attribute 'z'"):
        Scaled(1).z = 3
    with pytest.raises(TypeError, match="Expected"):
        Window("text")


def test_aggregates_inherit_from_aggregates_only():
    class Base:
        pass

    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):

        @tl.aggregate
        class Child(Base):
            x: tl.constexpr


def test_builtins_in_tritons_style():
    @tl.core.builtin
    def doubled(x, times: tl.constexpr = 1, _semantic=None):
        assert isinstance(times, tl.constexpr) and _semantic is not None
        return tl.add(_semantic.to_tensor(x), x, _semantic=_semantic)

    recorder = Recorder()
    with building(recorder):
        assert doubled(recorder.argument(tl.int32), times=tl.constexpr(2)).dtype == tl.int32
    assert recorder.names == ["arith.addi"]


def test_type_of_a_constant_tuple():
    """A tuple of constants has the type of the constant tuple."""
    assert as_value((5, 6)).type == tl.constexpr_type((5, 6)) and tl.constexpr_type((5, 6)) == as_value((5, 6)).type
    assert as_value((5, 6)).type != tl.constexpr_type((5, 7)) and as_value((5, 6)).type != tl.constexpr_type(5)


def test_constexpr_type_of_the_languages_tuple():
    """What a kernel writes as `constexpr_type((5, 6))`: the tuple is the language's there."""
    assert as_value((5, 6)).type == tl.constexpr_type(as_value((5, 6)))
