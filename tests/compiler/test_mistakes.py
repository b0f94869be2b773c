"""Mistakes of a kernel's author: the place, the mark, what was expected and found, what to do, and the reason."""

import traceback

import pytest

import naiad as triton
import naiad.language as tl
from naiad import knobs
from naiad.compiler.mistakes import filter_traceback
from naiad.errors import CompileTimeAssertionFailure, UnsupportedLanguageConstruct

from . import mistaken as m
from .support import compiled, mistake, text

P, N = "*fp32", "i32"
RETURN = "Cannot have `return` statements inside `while` or `for` statements in triton."

# kernel, types, `at LINE:COL:`, the marked text, parts of the message
MISTAKES = [
    (m.runtime_range, (P, N), (2, 8), "tl.arange(0, n)", ["arange's arguments must be of type tl.constexpr", "int32"]),
    (m.shapes_differ, (P,), (4, 22), "a + b", ["incompatible dimensions at index 0: 16 and 32", "int32[16]"]),
    (m.mask_differs, (P,), (3, 8), "tl.load(x + offsets, mask=tl.arange(0, 64) < 3)", ["mask = int1[64]", "128"]),
    (m.not_a_pointer, (N,), (2, 4), "tl.load(n)", ["Unsupported ptr type", "a pointer"]),
    (m.undefined, (P,), (3, 19), "ofsets", ["ofsets is not defined", "did you mean offsets?"]),
    (m.defined_in_loop, (P, N), (4, 18), "last", ["last is not defined", "first assigned inside the loop at line 2"]),
    (m.loop_variable_after, (P, N), (4, 18), "i", ["i is not defined", "the variable of the loop at line 2"]),
    (m.defined_in_branch, (P, N), (4, 18), "value", ["value is not defined", "only one branch of the `if` at line 2"]),
    (m.branch_types_differ, (P, N), (5, 18), "value", ["Mismatched type for value", "(fp32)", "(int32)"]),
    (m.return_in_loop, (P, N), (4, 12), "return", [RETURN]),
    (m.return_in_while, (P, N), (4, 8), "return", [RETURN]),
    (m.has_try, (P,), (2, 4), "try:", ["unsupported AST node type: Try", "device_assert"]),
    (m.has_with, (P,), (2, 4), "with out:", ["unsupported AST node type: With"]),
    (m.has_lambda, (P,), (2, 8), "lambda x: x", ["unsupported AST node type: Lambda", "@triton.jit"]),
    (m.has_set, (P,), (2, 18), "{x for x in (1, 2)}", ["unsupported AST node type: SetComp", "a tuple"]),
    (m.has_class, (P,), (2, 4), "class Inner:", ["unsupported AST node type: ClassDef", "@triton.aggregate"]),
    (m.has_function, (P,), (2, 4), "d", ["nested function definition is not supported"]),
    (m.has_break, (P, N), (4, 12), "break", ["unsupported AST node type: Break", "while"]),
    (m.type_changes, (P, N), (4, 8), "total", ["Loop-carried variable total", "int32", "fp32"]),
    (m.too_few, (P,), (2, 18), "callee(1)", ["callee() missing 1 required argument: 'b'", "callee(a, b, c)"]),
    (m.too_many, (P,), (2, 18), "callee(1, 2, 3, 4)", ["takes 3 positional arguments but 4 were given"]),
    (m.unknown_keyword, (P,), (2, 18), "callee(1, 2, d=3)", ["unexpected keyword argument 'd'", "d=constexpr 3"]),
    (m.recursion, (P, N), (2, 4), "endless(n)", ["Recursive call of endless"]),
    (m.plain_global, (P,), (2, 18), "NUMBER", ["Cannot access global variable NUMBER", "NUMBER = 42"]),
    (m.annotated_global, (P,), (2, 18), "ANNOTATED", ["Cannot access global variable ANNOTATED"]),
    (m.assigns_item, (N,), (3, 4), "t[0]", ["__setitem__ is not supported"]),
    (m.assigns_attribute, (N,), (2, 4), "n.value", ["Attribute assignment is not supported"]),
    (m.unpacks_too_few, (N,), (2, 4), "a, b, c = (n, n)", ["not enough values to unpack (expected 3, got 2)"]),
    (m.runtime_constexpr, (N,), (3, 4), "tl.arange(0, x)", ["arguments must be of type tl.constexpr", "x = int32"]),
    (m.tile_condition, (P,), (2, 4), "if tl.arange(0, 16) > 3:", ["Boolean value of Tensor with more than one value"]),
    (m.runtime_index, (N,), (3, 11), "t[n]", ["the index of a tuple must be known"]),
    (m.runtime_static_range, (P, N), (2, 4), "for i in tl.static_range(n):", ["tl.static_range", "int32"]),
    (m.float_bounds, (P, "fp32"), (2, 4), "for i in range(f):", ["For loop bounds and step must all be ints", "fp32"]),
    (m.text_of_runtime_value, (N,), (2, 20), 'f"{n}"', ["f-string containing non-constexpr conversion values"]),
    (m.ternary_types_differ, (P, N), (2, 18), "1.0 if n > 0 else tl.arange(0, 4)", ["inconsistent types"]),
    (m.not_of_tuple, (), (2, 4), "not (0, 0)", ["AST unary operator '__not__'"]),
    (m.constants_do_not_add, (), (2, 4), '0 + "a"', ["unsupported operand type(s) for +"]),
    (m.first_line, (N, N), (1, 40), "undefined_name", ["undefined_name is not defined"]),
]


@pytest.mark.parametrize(
    ("kernel", "types", "place", "marked", "parts"), MISTAKES, ids=[x[0].__name__ for x in MISTAKES]
)
def test_says_where_and_what(kernel, types, place, marked, parts):
    error = mistake(kernel, *types)
    text = str(error)
    line, column = place
    assert f"at {line}:{column}:\n" in text
    assert text.startswith(f"{m.__file__}:{kernel.def_line_number + line - 1}:{column + 1}: in {kernel.__name__}\n")
    marks = next(shown for shown in text.splitlines() if shown.strip() and not shown.strip("^ "))
    assert marks == " " * column + "^" * len(marked)
    assert kernel.src.splitlines()[line - 1][column:].startswith(marked)
    for part in parts:
        assert part in text
    assert text.splitlines()[-1] == error.reason()


EXPLAINED = [x for x in MISTAKES if x[0] not in (m.not_of_tuple, m.constants_do_not_add, m.unpacks_too_few)]


@pytest.mark.parametrize(("kernel", "types"), [x[:2] for x in EXPLAINED], ids=[x[0].__name__ for x in EXPLAINED])
def test_says_what_to_do(kernel, types):
    text = str(mistake(kernel, *types))
    assert "\nto do:    " in text


@pytest.mark.parametrize(
    ("kernel", "types"),
    [
        (k, t)
        for k, t, *_ in EXPLAINED
        if k.__name__.startswith(("runtime", "shapes", "mask", "not_a", "undef", "def", "has"))
    ],
)
def test_says_what_was_expected_and_found(kernel, types):
    text = str(mistake(kernel, *types))
    assert "\nexpected: " in text and "\nfound:    " in text


def test_chain_of_calls():
    error = mistake(m.in_a_callee, P, N)
    outer, middle, inner = error, error.__cause__, error.__cause__.__cause__
    assert "at 3:4:" in str(outer) and "at 2:11:" in str(middle) and "at 3:15:" in str(inner)
    assert isinstance(inner.__cause__, ValueError) and str(inner.__cause__) == "arange's range must be a power of 2"
    text = str(outer)
    assert text.index("in in_a_callee") < text.index("in middle") < text.index("in innermost")
    assert text.splitlines()[-1] == "arange's range must be a power of 2"


def test_return_types_point_at_the_function():
    error = mistake(m.return_types_differ, N)
    assert "at 2:4:" in str(error) and "at 1:0:" in str(error.__cause__)
    assert "int32[4] at line 3, int32[8] at line 5" in str(error)
    assert str(error).splitlines()[-1] == "Return type mismatch: int32[4] and int32[8]"


def test_kinds_and_causes():
    assert isinstance(mistake(m.has_try, P), UnsupportedLanguageConstruct)
    failed = mistake(m.static_assertion, N)
    assert isinstance(failed, CompileTimeAssertionFailure) and failed.__cause__ is None
    assert str(failed).splitlines()[-1] == "x must be known"
    assert "at compile-time" in str(mistake(m.runtime_static_assertion, N))
    assert mistake(m.not_of_tuple).__cause__ is None and mistake(m.undefined, P).__cause__ is None
    assert str(mistake(m.not_a_pointer, N).__cause__).startswith("Unsupported ptr type")


def test_unused_result_is_the_last_line():
    assert str(mistake(m.unused_result, N)).split("\n")[-1] == "The result of cube is not being used. It is pure."


@triton.jit
def bad_axis():
    tl.expand_dims(None, -1)


def test_traceback_has_the_language_but_not_the_front_end():
    error = mistake(bad_axis)
    filter_traceback(error)
    inner = "".join(traceback.format_exception(error.__cause__))
    outer = "".join(traceback.format_exception(error, chain=False))
    assert "/core.py" in inner
    assert "code_generator.py" not in inner + outer and "generator.py" not in inner + outer


def test_globals_are_allowed_by_the_knob():
    with knobs.compilation.scope():
        knobs.compilation.allow_non_constexpr_globals = True
        compiled(m.plain_global, P)


def test_internal_frames_on_request():
    with knobs.compilation.scope():
        knobs.compilation.front_end_debugging = True
        with pytest.raises(ValueError, match="power of 2"):
            compiled(m.innermost, N)


def test_missing_constant_of_the_kernel():
    @triton.jit
    def kernel(x, SIZE: tl.constexpr):
        tl.store(x, SIZE)

    error = mistake(kernel, P, "constexpr")
    assert "at 1:14:" in str(error) and "the constexpr parameter SIZE has no value" in str(error)


@triton.jit(do_not_specialize=["SIZE"])
def contradiction(x, SIZE: tl.constexpr):
    pass


def test_constexpr_is_always_specialised():
    error = mistake(contradiction, P, SIZE=4)
    assert "SIZE marked as constexpr and listed in do_not_specialize" in str(error)


@triton.jit(repr=lambda specialization: f"named_{specialization.constants['SIZE']}_{specialization.signature['x'][1:]}")
def renamed(x, SIZE: tl.constexpr):
    pass


def test_name_by_repr():
    assert "tt.func public @named_4_fp32(" in text(renamed, P, SIZE=4)


@pytest.mark.parametrize(
    ("value", "expected", "to_do"),
    [
        (None, "a tile or a number", "`if x is not None:` is decided when the kernel is compiled"),
        ("64", "a tile, a number or a bool", "pass one of these"),
    ],
)
def test_what_becomes_no_tile_has_advice(value, expected, to_do):
    said = str(mistake(m.adds_constant, P, n=value))
    assert f"\nexpected: {expected}\n" in said and to_do in said


def test_a_dtype_of_another_library_has_advice():
    import numpy as np

    said = str(mistake(m.casts_to, P, n=np.dtype("f4")))
    assert "\nexpected: such as tl.float32\n" in said and "pass the language's own dtype" in said


@pytest.mark.parametrize("kernel", [m.counts_constant, m.counts_tile, m.counts_shape])
def test_a_constant_that_is_no_int_is_not_called_unknown(kernel):
    said = str(mistake(kernel, P, n=64 / 2))
    assert "\nexpected: an int known when the kernel is compiled\n" in said and "n // 2 instead of n / 2" in said
    assert "make it a parameter" not in said
