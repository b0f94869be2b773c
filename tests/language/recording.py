"""A builder that writes down what it is asked to emit, so that tests can say what came out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from naiad.language.builder import Body
from naiad.language.values import base_value


@dataclass(frozen=True)
class Emitted:
    """One op as it was asked for."""

    op: str
    operands: tuple[Any, ...]
    type: Any
    attributes: dict[str, Any]
    body: tuple[Any, ...] = ()


@dataclass
class Recorder:
    """Records ops in `ops`. `call` runs the Python body of a function, which is enough without runtime control flow."""

    options: Any = field(default_factory=lambda: SimpleNamespace(
        sanitize_overflow=False,
        debug=True,
        default_dot_input_precision="tf32",
        allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
        supported_fp8_dtypes=("fp8e5", "fp8e4nv", "fp8e4b15", "fp8e4b8", "fp8e5b16"),
        deprecated_fp8_dot_operand_dtypes=(),
        max_num_imprecise_acc_default=0,
        arch=90,
        backend_name="cuda",
    ))  # fmt: skip
    ops: list[Emitted] = field(default_factory=list)
    handles: int = 0
    promises: list[tuple[Any, str, tuple[int, ...]]] = field(default_factory=list)

    def _handle(self) -> str:
        self.handles += 1
        return f"%{self.handles}"

    def _result(self, type: Any) -> Any:
        if type is None:
            return None
        return tuple(self._handle() for _ in type) if isinstance(type, tuple) else self._handle()

    def emit(self, op: str, operands: Sequence[Any], type: Any = None, **attributes: Any) -> Any:
        self.ops.append(Emitted(op, tuple(operands), type, attributes))
        return self._result(type)

    def emit_region(self, op: str, operands: Sequence[Any], type: Any, body: Body, **attributes: Any) -> Any:
        given = body.build([self._handle() for _ in body.arguments])
        type = tuple(type) if isinstance(type, list) else type
        self.ops.append(Emitted(op, tuple(operands), type, attributes, tuple(given)))
        return self._result(type)

    def annotate(self, handle: Any, name: str, values: tuple[int, ...]) -> None:
        self.promises.append((handle, name, values))

    def known(self, handle: Any) -> Any:
        return None

    def constant(self, value: Any, type: Any) -> Any:
        self.ops.append(Emitted("arith.constant", (), type, {"value": value}))
        return self._handle()

    def call(self, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        return function.fn(*arguments, **keywords)

    def argument(self, type: Any) -> Any:
        """A value of `type` with a fresh handle."""
        from naiad.language.values import handle_types

        value, _ = type._unflatten_ir([self._handle() for _ in handle_types(type)], 0)
        assert isinstance(value, base_value)
        return value

    @property
    def names(self) -> list[str]:
        """The names of the ops so far, without constants."""
        return [e.op for e in self.ops if e.op != "arith.constant"]

    def last(self, op: str) -> Emitted:
        """The last op of that name."""
        return next(e for e in reversed(self.ops) if e.op == op)
