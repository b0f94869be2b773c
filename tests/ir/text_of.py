"""Helpers of the tests of the IR: a module around a block, and a text read and printed."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from naiad.ir.text import parse, print_module
from naiad.ir.tt.func import ReturnOp, function


def function_of(block: Block, name: str = "f") -> ModuleOp:
    """A module with one function, whose body is `block` and a return of nothing."""
    block.add_op(ReturnOp())
    return ModuleOp([function(name, [a.type for a in block.args], [], Region(block), public=True)])


def read_and_print(body: str, arguments: str = "", locations: bool = False) -> str:
    """The text of a function with `body`, after a round trip; asserts that a second one changes nothing."""
    module = parse(f"tt.func public @f({arguments}) {{\n{body}\n  tt.return\n}}\n")
    text = print_module(module, locations)
    again = parse(text)
    assert again.is_structurally_equivalent(module)
    assert print_module(again, locations) == text
    return text
