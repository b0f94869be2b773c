"""Keys of specialisations, for packages that look up and keep kernels themselves."""

from types import SimpleNamespace
from typing import Any

from naiad.runtime.preload import serialize

__all__ = ["compute_cache_key", "serialize_specialization_data"]


def compute_cache_key(keys: dict[Any, str], specialization: Any, options: dict[str, Any]) -> str:
    """The key under which `device_caches[device][0]` has a kernel, of what its binder gave for the arguments."""
    return f"{tuple(specialization)}{options}"


def serialize_specialization_data(
    name: str, signature: Any, constants: Any, attrs: Any, options: Any, key: str, target: Any
) -> str:
    """The text that `kernel.preload` takes."""
    device = SimpleNamespace(function=SimpleNamespace(_fn_name=name), target=target)
    return serialize(
        SimpleNamespace(device=device, signature=signature, constants=constants, attrs=attrs, options=options, key=key)
    )
