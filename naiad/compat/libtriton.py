"""The few functions of Triton's native module that Python code outside of Triton calls."""

from typing import Any

from naiad import knobs
from naiad.environment import TRUE, getenv
from naiad.runtime.specialize import specialize

__all__ = ["get_cache_invalidating_env_vars", "getenv", "getenv_bool", "native_specialize_impl", "specialize_impl"]


def getenv_bool(key: str, default: bool | None) -> bool | None:
    text = getenv(key)
    return default if text is None else text.lower() in TRUE


def get_cache_invalidating_env_vars() -> dict[str, str]:
    return knobs.cache_invalidating_values()


def native_specialize_impl(backend: Any, argument: Any, is_const: bool, specialize_value: bool, align: bool) -> Any:
    """The type of an argument in a signature, and what is compiled in of it."""
    return specialize(argument, is_const, specialize_value, align)


specialize_impl = native_specialize_impl
