"""Aggregates: classes whose instances live in kernels. Fields are values of the language; instances do not change.

    @triton.aggregate
    class Window:
        base: tl.tensor
        size: tl.constexpr = 64

A constructor is made from the fields, parents' first, unless the class has `__init__`. `__post_init__` runs after it.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from naiad.language.builder import Handle, is_building
from naiad.language.constexpr import constexpr
from naiad.language.function import COMPILER_KEYWORDS, Function, Method
from naiad.language.promotion import is_number, to_tensor
from naiad.language.tensor import tensor
from naiad.language.tuples import tuple as language_tuple
from naiad.language.values import base_type, base_value

_MISSING = object()


@dataclass(frozen=True)
class aggregate_type(base_type):
    """The class of an aggregate with the types of its fields."""

    base_cls: type
    fields: tuple[tuple[str, Any], ...]

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for _, type in self.fields:
            type._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: Sequence[Handle], cursor: int) -> tuple[base_value, int]:
        values = {}
        for name, type in self.fields:
            values[name], cursor = type._unflatten_ir(handles, cursor)
        return self.base_cls._from_fields(values), cursor  # type: ignore[attr-defined]

    def mangle(self) -> str:
        fields = ", ".join(type.mangle() for _, type in self.fields)
        return f"{self.base_cls.__module__}.{self.base_cls.__qualname__}<{fields}>"


class Aggregate(base_value):
    """The base of all aggregates: construction, immutability, taking apart."""

    __triton_builtin__ = True
    __triton_aggregate__ = True
    _annotations: ClassVar[dict[str, Any]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}
    _constructor: ClassVar[Callable[..., None] | None] = None
    hash_attrs: ClassVar[list[Any]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values: dict[str, Any] = {}
        object.__setattr__(self, "_open", values)
        given = {name: kwargs.pop(name, None) for name in COMPILER_KEYWORDS}
        if self._constructor is None:
            self._assign(args, kwargs)
        else:
            self._constructor(*args, **kwargs, **_wanted(self._constructor, given))
        post = getattr(self, "__post_init__", None)
        if post is not None:
            post(**_wanted(post, given))
        for name in self._annotations:
            if name not in self.__dict__:
                raise AttributeError(f"constructor for {type(self).__name__} did not initialize attribute '{name}'")
        object.__delattr__(self, "_open")

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> "Aggregate":
        """An instance with these fields, without running a constructor."""
        instance = object.__new__(cls)
        for name in cls._annotations:
            object.__setattr__(instance, name, _as_field(cls, name, values[name]))
        return instance

    def _assign(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """The constructor where the class has none: fields by position or name, defaults for the rest."""
        names = list(self._annotations)
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} arguments, got {len(args)}")
        values = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in values:
                raise TypeError(f"{type(self).__name__} got an unexpected or repeated argument '{name}'")
            values[name] = value
        for name in names:
            value = values.get(name, self._defaults.get(name, _MISSING))
            if value is _MISSING:
                raise TypeError(f"{type(self).__name__} is missing the argument '{name}'")
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._annotations:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
        if "_open" not in self.__dict__:
            raise AttributeError(
                f"cannot assign to field '{name}' on immutable aggregate '{type(self).__name__}'; "
                "tl.aggregate_replace makes a changed copy"
            )
        object.__setattr__(self, name, _as_field(type(self), name, value))

    @property
    def type(self) -> Any:
        return aggregate_type(type(self), tuple((name, getattr(self, name).type) for name in self._annotations))

    def _flatten_ir(self, handles: list[Handle]) -> None:
        for name in self._annotations:
            getattr(self, name)._flatten_ir(handles)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self._annotations)})"


def _wanted(function: Callable[..., Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Those of the compiler's keywords that `function` has parameters for."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in keywords.items() if name in parameters}


def _as_field(owner: type, name: str, value: Any) -> Any:
    """`value` as the annotation of the field says: Python objects become constexpr, tuple or tensor."""
    wanted = owner._annotations[name]  # type: ignore[attr-defined]
    if wanted is constexpr and not isinstance(value, base_value):
        value = constexpr(value)
    elif wanted is language_tuple and isinstance(value, tuple | list):
        value = language_tuple(value)
    elif wanted is tensor and is_building() and (is_number(value) or isinstance(value, constexpr)):
        value = to_tensor(value)
    if isinstance(wanted, type) and not isinstance(value, wanted):
        raise TypeError(f"Expected {wanted} for attribute '{name}', got {type(value)}")
    return value


def _resolved(cls: type) -> dict[str, Any]:
    """The annotations of the class itself; those given as text are looked up in its module."""
    scope = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    found = inspect.get_annotations(cls)
    return {name: eval(a, scope, dict(vars(cls))) if isinstance(a, str) else a for name, a in found.items()}


def aggregate(cls: type) -> type:
    """Makes a class an aggregate."""
    parents = [base for base in cls.__bases__ if base is not object]
    if any(not (isinstance(base, type) and issubclass(base, Aggregate)) for base in parents):
        raise TypeError(f"Aggregates can only inherit from other aggregates: {cls.__name__}({parents[0].__name__})")
    own = _resolved(cls)
    inherited = {n: a for base in reversed(parents) for n, a in base._annotations.items()}  # type: ignore[attr-defined]
    defaults = {n: v for base in reversed(parents) for n, v in base._defaults.items()}  # type: ignore[attr-defined]
    members = dict(vars(cls))
    defaults |= {name: members.pop(name) for name in own if name in members}
    for unwanted in ("__dict__", "__weakref__", "__annotations__"):
        members.pop(unwanted, None)
    constructor = members.pop("__init__", None)
    if isinstance(constructor, Function):
        raise TypeError(f"{cls.__name__}.__init__ cannot be a @triton.jit function")
    namespace = {n: _as_method(m) for n, m in members.items()}
    namespace |= {"_annotations": inherited | own, "_defaults": defaults}
    if constructor is not None:
        namespace["_constructor"] = constructor
    namespace["hash_attrs"] = [_part_of_key(m) for m in (constructor, *members.values()) if callable(m)]
    made = type(cls.__name__, tuple(parents) or (Aggregate,), namespace)
    made.__qualname__ = cls.__qualname__
    return made


@dataclass(frozen=True)
class PlainMember:
    """A method that is plain Python, for the key of the kernels that use the class: its source stands for it."""

    fn: Callable[..., Any]
    noinline: ClassVar[bool] = False
    used_global_vals: ClassVar[dict[Any, Any]] = {}

    @property
    def __name__(self) -> str:
        return self.fn.__name__

    @property
    def cache_key(self) -> str:
        return hashlib.sha256(inspect.getsource(self.fn).encode()).hexdigest()


def _part_of_key(member: Any) -> Any:
    function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    return PlainMember(function) if inspect.isfunction(function) else function


def _as_method(member: Any) -> Any:
    """A member as the class gets it. Kernels may call plain static methods, as functions of the language."""
    if isinstance(member, staticmethod | classmethod) and inspect.isfunction(member.__func__):
        member.__func__.__triton_builtin__ = True  # type: ignore[attr-defined]
    return Method(member) if isinstance(member, Function) and not hasattr(type(member), "__get__") else member


_aggregate = aggregate


def aggregate_replace(instance: Any, /, **changes: Any) -> Any:
    """A copy of an aggregate with some fields changed."""
    for name in COMPILER_KEYWORDS:
        changes.pop(name, None)
    if not isinstance(instance, Aggregate):
        raise TypeError(f"aggregate_replace expects an aggregate instance, got {type(instance).__name__}")
    for name in changes:
        if name not in instance._annotations:
            raise TypeError(f"{type(instance).__name__} has no field '{name}'")
    return instance._from_fields({name: changes.get(name, getattr(instance, name)) for name in instance._annotations})


aggregate_replace.__triton_builtin__ = True  # type: ignore[attr-defined]
