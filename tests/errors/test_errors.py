"""The text of errors: Triton's `at LINE:COL:` form, the file's place around it, and the callees below the caller."""

import pickle

from naiad.errors import (
    AutotunerError,
    CompilationError,
    Explanation,
    OutOfResources,
    Place,
    TritonError,
    explain,
    explanation_of,
)

SOURCE = "def kernel(p, n):\n    x = tl.arange(0, n)\n    tl.store(p, x)"
PLACE = Place(SOURCE, 2, 8, 2, 23, "/tmp/k.py", 11, 4, "kernel")


def test_text_has_place_source_marks_explanation_and_the_reason_last():
    error = CompilationError("no runtime sizes", PLACE, Explanation("constexpr", "int32", "use a constexpr"))
    assert str(error).splitlines() == [
        "/tmp/k.py:12:13: in kernel",
        "at 2:8:",
        "def kernel(p, n):",
        "    x = tl.arange(0, n)",
        "        ^^^^^^^^^^^^^^^",
        "expected: constexpr",
        "found:    int32",
        "to do:    use a constexpr",
        "no runtime sizes",
    ]


def test_marks_reach_the_end_of_the_line_for_what_goes_on_below():
    assert Place("a = f(x,\n      y)", 1, 4, 2, 8).excerpt().splitlines()[-1] == "    ^^^^"


def test_only_the_last_lines_of_a_long_source_are_shown():
    source = "\n".join(f"line{i}" for i in range(40))
    shown = Place(source, 30).excerpt().splitlines()
    assert shown[1] == "line18" and shown[-2] == "line29"


def test_callees_show_below_the_caller_and_give_the_reason():
    inner = CompilationError(
        "xyz is not defined", Place("def callee():\n    xyz", 2, 4, 2, 7, "/tmp/a.py", 1, 0, "callee")
    )
    outer = CompilationError(None, PLACE, inner=inner)
    text = str(outer)
    assert text.index("at 2:8:") < text.index("/tmp/a.py:2:5: in callee") < text.index("at 2:4:")
    assert text.splitlines()[-1] == outer.reason() == "xyz is not defined"


def test_errors_survive_pickling():
    error = CompilationError("no", PLACE, Explanation("a", "b"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(pickle.loads(pickle.dumps(OutOfResources(2, 1, "threads")))) == str(OutOfResources(2, 1, "threads"))


def test_explain_rides_on_any_exception():
    error = explain(ValueError("bad"), expected="a tile", advice="make one")
    assert str(error) == "bad" and explanation_of(error).expected == "a tile"
    assert explanation_of(KeyError()) == explanation_of(None) == Explanation()


def test_texts_that_users_match():
    assert "out of resource: threads, Required: 4096" in str(OutOfResources(4096, 1024, "threads"))
    assert str(AutotunerError("No valid")) == "Autotuner error: No valid"
    assert issubclass(CompilationError, TritonError)
