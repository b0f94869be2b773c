"""The builder of the compiler: answers `language` by making ops of the IR at the place where the front end stands."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import AttrSizedOperandSegments

from naiad.compiler.ir_types import ir_type
from naiad.ir.attributes import attribute
from naiad.ir.base import int_attr, segments
from naiad.ir.constants import number, value_attribute
from naiad.ir.registry import OPS
from naiad.language.builder import Body

__all__ = ["Frame", "IRBuilder"]


@dataclass
class Frame:
    """What the builder knows of the function that it is in: where constants go, and where its source is."""

    entry: Block
    file: str
    first_line: int
    indent: int
    with_locations: bool = True
    constants: dict[Any, SSAValue] = field(default_factory=dict)
    last_constant: Operation | None = None
    locations: dict[tuple[int, int], LocationAttr] = field(default_factory=dict)
    promises: dict[int, dict[str, Attribute]] = field(default_factory=dict)
    """What `tl.multiple_of` and its like say of the function's arguments, by their number."""

    def location(self, node: ast.AST | None) -> LocationAttr | None:
        """The place of a node of the function's syntax tree in its file; made once a place."""
        if not self.with_locations or node is None or (line := getattr(node, "lineno", None)) is None:
            return None
        key = (line, node.col_offset)  # type: ignore[attr-defined]
        found = self.locations.get(key)
        if found is None:
            column = key[1] + self.indent + 1
            found = FileLineColLoc(StringAttr(self.file), IntAttr(self.first_line + line - 1), IntAttr(column))
            self.locations[key] = found
        return found

    def add_constant(self, op: Operation) -> None:
        """Constants stand at the start of the function, so that every later use of the same one is dominated."""
        if self.last_constant is not None:
            self.entry.insert_op_after(op, self.last_constant)
        elif self.entry.first_op is not None:
            self.entry.insert_op_before(op, self.entry.first_op)
        else:
            self.entry.add_op(op)
        self.last_constant = op


class IRBuilder:
    """Makes ops by name at the end of `block`, at the place of `node`."""

    def __init__(self, options: Any, call: Callable[[Any, Sequence[Any], dict[str, Any]], Any]) -> None:
        self.options = options
        self.call = call
        self.frame: Frame
        self.block: Block
        self.node: ast.AST | None = None

    def emit(self, op: str, operands: Sequence[Any], type: Any = None, **attributes: Any) -> Any:
        """See `language.builder.Builder.emit`. A list among the operands is one variadic group."""
        return _results(self.add(op, operands, _ir_types(type), properties=attributes), type)

    def emit_region(self, op: str, operands: Sequence[Any], type: Any, body: Body, **attributes: Any) -> Any:
        block = Block(arg_types=[ir_type(t) for t in body.arguments])
        outside, self.block = self.block, block
        try:
            self.add(f"{op}.return", body.build(block.args))
        finally:
            self.block = outside
        return _results(self.add(op, operands, _ir_types(type), [Region(block)], attributes), type)

    def constant(self, value: int | float | bool, type: Any) -> SSAValue:
        key = (repr(value), type)
        found = self.frame.constants.get(key)
        if found is None:
            irt = ir_type(type)
            op = OPS["arith.constant"].create(
                result_types=[irt],
                properties={"value": _value(repr(value), value, irt)},
                location=self.frame.location(self.node),
            )
            self.frame.add_constant(op)
            found = self.frame.constants[key] = op.results[0]
        return found

    def add(
        self,
        op: str,
        operands: Sequence[Any],
        types: Sequence[Attribute] = (),
        regions: Sequence[Region] = (),
        properties: dict[str, Any] | None = None,
        attributes: dict[str, Attribute] | None = None,
    ) -> Operation:
        """Makes an op from IR types and plain `properties`; `attributes` are discardable ones."""
        kind: type[Operation] = OPS[op]
        given = _properties(kind, properties) if properties else {}
        flat, sizes = _groups(operands)
        if _is_segmented(kind):
            given["operandSegmentSizes"] = segments(*sizes, *[0] * (_group_count(kind) - len(sizes)))
        made = kind.create(
            operands=flat,
            result_types=types,
            properties=given,
            attributes=attributes or {},
            regions=regions,
            location=self.frame.location(self.node),
        )
        self.block.add_op(made)
        return made

    def known(self, handle: SSAValue) -> int | float | bool | None:
        """The number that a handle is, where it is a constant."""
        return number(handle)

    def annotate(self, handle: SSAValue, name: str, values: Sequence[int]) -> None:
        """Notes what the author promises of a value: on the op that makes it, or on the function's argument."""
        if isinstance(handle, OpResult):
            type = TensorType(i32, [len(values)])
            handle.op.attributes[name] = DenseIntOrFPElementsAttr.from_list(type, list(values))
        elif isinstance(handle, BlockArgument) and handle.owner is self.frame.entry:
            self.frame.promises.setdefault(handle.index, {})[name] = int_attr(values[0])

    def poison(self, like: SSAValue) -> SSAValue:
        """A value of the type of `like` that nothing may depend on."""
        return self.add("ub.poison", (), (like.type,)).results[0]


def _ir_types(type: Any) -> Sequence[Attribute]:
    if type is None:
        return ()
    return [ir_type(t) for t in type] if isinstance(type, tuple | list) else (ir_type(type),)


def _results(op: Operation, type: Any) -> Any:
    if type is None:
        return None
    return tuple(op.results) if isinstance(type, tuple | list) else op.results[0]


@cache
def _is_segmented(kind: type[Operation]) -> bool:
    """Whether the op says how many operands each of its groups has."""
    options = kind.get_irdl_definition().options  # type: ignore[attr-defined]
    return any(isinstance(option, AttrSizedOperandSegments) for option in options)


@cache
def _group_count(kind: type[Operation]) -> int:
    return len(kind.get_irdl_definition().operands)  # type: ignore[attr-defined]


def _groups(operands: Sequence[Any]) -> tuple[list[SSAValue], list[int]]:
    """The operands one after the other, and how many each entry stands for: None is none, a list is a group."""
    flat: list[SSAValue] = []
    sizes = []
    for operand in operands:
        before = len(flat)
        if isinstance(operand, SSAValue):
            flat.append(operand)
        elif operand is not None:
            flat += operand
        sizes.append(len(flat) - before)
    return flat, sizes


_attributes: dict[Any, Attribute | None] = {}


def _properties(kind: type[Operation], values: dict[str, Any]) -> dict[str, Attribute]:
    """Plain Python values as properties; what is the default of the text is left out."""
    given = {}
    for name, value in values.items():
        key = (kind, name, value.__class__, tuple(value) if isinstance(value, list) else value)
        if key not in _attributes:
            _attributes[key] = attribute(kind, name, value)
        if (made := _attributes[key]) is not None:
            given[name] = made
    return given


_values: dict[tuple[str, Attribute], Attribute] = {}


def _value(text: str, value: Any, type: Attribute) -> Attribute:
    found = _values.get((text, type))
    if found is None:
        found = _values[(text, type)] = value_attribute(value, type)
    return found
