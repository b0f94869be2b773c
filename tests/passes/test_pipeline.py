"""Pipelines: orders with reasons, a user's own pass, hooks; the drivers end; naiad-opt."""

import io
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from naiad.ir.elementwise import AddIOp
from naiad.ir.text import parse, print_module
from naiad.passes.common.cse import CommonSubexpressions
from naiad.passes.common.dce import DeadCode
from naiad.passes.common.inline import Inline
from naiad.passes.driver import Rules, rewrite, simplify
from naiad.passes.pipeline import Order, Pipeline, customized, fingerprint
from naiad.passes.ttir import TTIR
from naiad.tools.opt import main, passes_of

TEXT = """tt.func @f(%x: i32, %y: i32) -> i32 {
  %a = arith.addi %x, %y : i32 loc("k.py":3:4)
  tt.return %a : i32
}
"""


@dataclass(frozen=True)
class Note(ModulePass):
    """A user's pass: writes down that it ran."""

    name = "note"
    log: list

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.log.append(sum(1 for _ in op.walk()))


def test_a_wrong_order_says_why() -> None:
    with pytest.raises(ValueError, match="mine: tt-inline must run before cse: calls hide values"):
        Pipeline("mine", (CommonSubexpressions(), Inline()), (Order("tt-inline", "cse", "calls hide values"),))
    with pytest.raises(ValueError, match="has no pass 'nonsense'; it has tt-inline"):
        TTIR.before("nonsense", DeadCode())


def test_before_after_without() -> None:
    log: list = []
    mine = TTIR.before("cse", Note(log)).after("dce", Note(log))
    names = mine.names
    assert names[names.index("cse") - 1] == "note" and names[-1] == "note"
    assert "note" not in TTIR.names and "cse" not in TTIR.without("cse").names
    mine.run(parse(TEXT))
    assert len(log) == 2


def test_a_hook_changes_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list = []
    before = fingerprint()
    with customized(lambda p: p.after("cse", Note(log)) if p.name == "ttir" else p):
        assert fingerprint() != before
        TTIR.run(parse(TEXT))
    TTIR.run(parse(TEXT))
    assert len(log) == 1
    monkeypatch.setenv("NAIAD_PIPELINE", f"{__name__}:drop_everything")
    module = TTIR.run(parse(TEXT.replace("%y : i32", "%x : i32")))
    assert "arith.addi" in print_module(module)
    monkeypatch.setenv("NAIAD_PIPELINE", "no_colon")
    with pytest.raises(ValueError, match=r"expected package\.module:function"):
        TTIR.run(parse(TEXT))


def drop_everything(pipeline: Pipeline) -> Pipeline:
    return Pipeline(pipeline.name, ())


def test_times_are_given_per_pass() -> None:
    seen = []
    TTIR.run(parse(TEXT), observer=lambda p, module, seconds: seen.append((p.name, seconds)))
    assert [name for name, _ in seen] == TTIR.names and all(s >= 0 for _, s in seen)


def test_rules_that_never_settle_are_reported() -> None:
    rules = Rules()

    @rules.on(AddIOp)
    def flip(op, rewriter):
        rewriter.set_operands(op, op._operands[::-1])

    with pytest.raises(RuntimeError, match=r"does not settle, last at arith\.addi"):
        simplify(parse(TEXT), rules)

    class Flip(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: AddIOp, rewriter: PatternRewriter) -> None:
            rewriter.replace(op, AddIOp(op.rhs, op.lhs, results=[op.result.type]))

    with pytest.raises(RuntimeError, match=r"does not settle, last at arith\.addi"):
        rewrite(parse(TEXT), Flip())


def test_new_ops_stand_where_the_old_one_did() -> None:
    rules, done = Rules(), []

    @rules.on(AddIOp)
    def again(op, rewriter):
        if not done:
            done.append(rewriter.replace_by(op, AddIOp(*op._operands, results=[op.result.type])))

    module = parse(TEXT)
    assert simplify(module, rules)
    assert 'loc("k.py":3:4)' in print_module(module, locations=True)


def test_opt_runs_passes(tmp_path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "k.ttir"
    path.write_text(
        "tt.func @f(%x: i32) -> i32 {\n %z = arith.constant 0 : i32\n"
        " %a = arith.addi %x, %z : i32\n tt.return %a : i32\n}\n"
    )
    out, err = io.StringIO(), io.StringIO()
    assert main([str(path), "-p", "canonicalize,cse", "--timing", "--print-between"], out, err) == 0
    assert "// after canonicalize" in out.getvalue() and "tt.return %x" in out.getvalue() and "cse" in err.getvalue()
    assert main([str(path), "-p", "nonsense"], out, err) == 1
    assert "no pass 'nonsense'; there are" in err.getvalue()
    path.write_text("tt.func @f() {\n tt.nothing\n}\n")
    assert main([str(path)], out, err) == 1 and "tt.nothing" in err.getvalue()
    assert main(["--list"], out, err) == 0 and "tt-uniform-carries" in out.getvalue()


def test_options_of_passes() -> None:
    assert passes_of("tt-inline{all=true},dce") == [Inline(all=True), DeadCode()]
    with pytest.raises(ValueError, match="pass dce has no option 'x'"):
        passes_of("dce{x=1}")
