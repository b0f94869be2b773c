"""`triton._C.libtriton.ir` as code outside of Triton uses it: walking ttir, by the methods of MLIR's bindings.

`ASTSource.make_ir(target, options, codegen_fns, module_map, context)` gives a Module of this file; torch looks through
it for the arguments that a kernel writes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["block", "context", "load_dialects", "module", "operation", "region", "value"]


class context:
    """Where MLIR keeps types and attributes. naiad's IR needs none: this says which view of it is asked for."""

    def view(self, ir: Any) -> "module":
        """A module of naiad's under MLIR's methods."""
        return module(ir)

    def disable_multithreading(self) -> None:
        """For MLIR's interface: nothing here runs in threads."""

    def printOpOnDiagnostic(self, on: bool) -> None:
        """For MLIR's interface."""

    def printStackTraceOnDiagnostic(self, on: bool) -> None:
        """For MLIR's interface."""


def load_dialects(where: context) -> None:
    """For MLIR's interface: naiad's dialects are there."""


@dataclass(frozen=True)
class value:
    """A result of an operation, or an argument of a block."""

    ir: Any

    def id(self) -> int:
        """The same for the same value, as long as the module lives."""
        return id(self.ir)

    def get_shape(self) -> list[int]:
        """The sizes of a tile; empty for a scalar."""
        shape = getattr(self.ir.type, "get_shape", None)
        return list(shape()) if shape else []

    def get_type(self) -> str:
        return str(self.ir.type)


@dataclass(frozen=True)
class block:
    """A list of operations with arguments."""

    ir: Any

    def id(self) -> int:
        return id(self.ir)

    def get_num_arguments(self) -> int:
        return len(self.ir.args)

    def get_argument(self, index: int) -> value:
        return value(self.ir.args[index])

    def get_parent(self) -> "region | None":
        found = self.ir.parent_region()
        return None if found is None else region(found)


@dataclass(frozen=True)
class region:
    """The body of an operation."""

    ir: Any

    def id(self) -> int:
        return id(self.ir)

    def size(self) -> int:
        return len(self.ir.blocks)

    def empty(self) -> bool:
        return not self.ir.blocks

    def get_block(self, index: int) -> block:
        return block(self.ir.blocks[index])


@dataclass(frozen=True)
class operation:
    """One operation."""

    ir: Any

    def get_name(self) -> str:
        return self.ir.name

    def get_num_operands(self) -> int:
        return len(self.ir.operands)

    def get_operand(self, index: int) -> value:
        return value(self.ir.operands[index])

    def get_num_results(self) -> int:
        return len(self.ir.results)

    def get_result(self, index: int) -> value:
        return value(self.ir.results[index])

    def get_num_regions(self) -> int:
        return len(self.ir.regions)

    def get_region(self, index: int) -> region:
        return region(self.ir.regions[index])

    def get_block(self) -> block | None:
        found = self.ir.parent_block()
        return None if found is None else block(found)

    # An attribute that the operation does not have, or has in another form, is None
    def get_str_attr(self, name: str) -> str | None:
        found = self._attribute(name)
        return found.data if isinstance(getattr(found, "data", None), str) else None

    def get_int_attr(self, name: str) -> int | None:
        return _integer(self._attribute(name))

    def get_bool_attr(self, name: str) -> bool | None:
        found = _integer(self._attribute(name))
        return None if found is None else bool(found)

    def get_flat_symbol_ref_attr(self, name: str) -> str | None:
        found = getattr(self._attribute(name), "root_reference", None)
        return None if found is None else found.data

    def get_constant_value(self) -> int | float | None:
        """The number of an `arith.constant`, also where it fills a tile."""
        number = getattr(getattr(self._attribute("value"), "value", None), "data", None)
        return number if isinstance(number, int | float) else None

    def _attribute(self, name: str) -> Any:
        return self.ir.properties.get(name, self.ir.attributes.get(name))

    def __str__(self) -> str:
        from naiad.ir.text import print_op

        return print_op(self.ir)


class module(operation):
    """All functions of a kernel."""

    def walk(self, visit: Callable[[operation], Any]) -> None:
        """Calls `visit` for every operation, those inside of one before it."""

        def down(ir: Any) -> None:
            for body in ir.regions:
                for part in body.blocks:
                    for op in part.ops:
                        down(op)
            visit(module(ir) if ir is self.ir else operation(ir))

        down(self.ir)

    def verify(self) -> bool:
        """Whether the module is legal IR."""
        from naiad.ir.check import IRError, check

        try:
            check(self.ir, "ttir")
        except IRError:
            return False
        return True

    def __str__(self) -> str:
        from naiad.ir.text import print_module

        return print_module(self.ir)


def _integer(attribute: Any) -> int | None:
    number = getattr(getattr(attribute, "value", None), "data", None)
    return number if isinstance(number, int) else None
