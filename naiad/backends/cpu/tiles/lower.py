"""The whole of ttir -> ttcir: one function after the other, loops of vectors out of tiles."""

from typing import Any

from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import Rewriter

from naiad.backends.cpu.target import CpuTarget
from naiad.backends.cpu.tiles import block, roots, views
from naiad.backends.cpu.tiles.block import lower_block
from naiad.backends.cpu.tiles.control import lower_for, lower_if, lower_while
from naiad.backends.cpu.tiles.dot import lower_dot
from naiad.backends.cpu.tiles.facts import Facts
from naiad.backends.cpu.tiles.plan import Plan
from naiad.backends.cpu.tiles.reduce import lower_reduce
from naiad.backends.cpu.tiles.scan import lower_scan
from naiad.backends.cpu.tiles.tiles import Tiles
from naiad.backends.cpu.tiles.writer import Writer
from naiad.ir.base import inside
from naiad.ir.registry import OPS
from naiad.passes.effects import is_dead

block.ROOTS.update(
    roots.ROOTS
    | {
        "tt.reduce": lower_reduce,
        "tt.scan": lower_scan,
        "tt.dot": lower_dot,
        "scf.for": lower_for,
        "scf.while": lower_while,
        "scf.if": lower_if,
    }
)


def tiles_to_loops(module: ModuleOp, target: CpuTarget) -> ModuleOp:
    """A ttcir module with the public functions of a ttir module, in which all calls are inlined."""
    functions = [lower_function(op, target) for op in module.ops if op.name == "tt.func"]
    return ModuleOp(functions, attributes=dict(module.attributes))


def lower_function(function: Operation, target: CpuTarget) -> Operation:
    source = function.regions[0].block
    entry = Block(arg_types=[a.type for a in source.args])
    tiles = Tiles(Writer(entry), Plan(source), target, views.RULES)
    for old, new in zip(source.args, entry.args, strict=True):
        tiles.scalars[old] = new
        new.name_hint = old.name_hint
    _note_arguments(tiles, function, entry)
    lower_block(tiles, source)
    entry.add_op(OPS["tt.return"]())
    made = OPS["tt.func"](
        regions=[Region(entry)], location=function.location, attributes=dict(function.attributes), **function.properties
    )
    drop_unused(made)
    return made


def drop_unused(function: Operation) -> None:
    """Takes out what was written and is not read: a branch without its masks, an address that went another way."""
    for op in reversed(inside(function)):
        if is_dead(op):
            Rewriter.erase_op(op)


def _note_arguments(tiles: Tiles, function: Operation, entry: Block) -> None:
    """What the specialisation says of integer arguments."""
    given: Any = function.properties.get("arg_attrs") or ()
    for argument, attributes in zip(entry.args, given, strict=False):
        hint = attributes.data.get("tt.divisibility")
        if hint is not None and isinstance(argument.type, IntegerType):
            tiles.w.facts[argument] = Facts(hint.value.data, frozenset((argument,)))
