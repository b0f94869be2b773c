"""Specialisations as text: what compile hooks are told, and compiling from it in another process (`kernel.preload`)."""

import json
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from naiad.runtime.preload_values import decode, encode

OPTIONS_SHOWN = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "launch_cooperative_grid")


@dataclass(frozen=True)
class JitFunctionInfo:
    """Which kernel a hook is about: its module's name, its qualified name, itself."""

    module: ModuleType | str
    name: str
    jit_function: Any


def describe(compilation: Any, warmup: bool) -> dict[str, Any]:
    """The keywords `key`, `repr`, `fn` and `compile` of a hook."""
    device, options = compilation.device, compilation.options
    function = device.function
    name = function.fn.__qualname__
    shown = ", ".join(f"{option}={getattr(options, option, None)}" for option in OPTIONS_SHOWN)
    arguments = ", ".join(f"{name}: {kind}" for name, kind in compilation.signature.items())
    facts = {
        "key": compilation.key, "signature": compilation.signature, "device": device.driver.get_current_device(),
        "constants": compilation.constants, "configs": [compilation.attrs],
        "specialization_data": serialize(compilation), "is_warmup": warmup, "extern_libs": (),
    }  # fmt: skip
    return {
        "key": compilation.key,
        "repr": f"{name}[{shown}]({arguments})",
        "fn": JitFunctionInfo(function.module, name, function),
        "compile": {**dict.fromkeys(OPTIONS_SHOWN), **facts, **vars(options)},
    }


def serialize(compilation: Any) -> str:
    """The compilation as JSON."""
    constants, attrs = compilation.constants, compilation.attrs
    return json.dumps(
        {
            "name": compilation.device.function._fn_name,
            "target": vars(compilation.device.target),
            "signature": {name: encode(kind) for name, kind in compilation.signature.items()},
            "constant_keys": [list(path) for path in constants],
            "constant_vals": [encode(value) for value in constants.values()],
            "attrs_keys": [list(path) for path in attrs],
            "attrs_vals": list(attrs.values()),
            "options": vars(compilation.options),
            "key": compilation.key,
        },
        default=str,
    )


FIELDS = ("name", "target", "signature", "constant_keys", "constant_vals", "attrs_keys", "attrs_vals", "options", "key")


def read(text: str) -> dict[str, Any]:
    """The fields of what `serialize` wrote."""
    try:
        data = json.loads(text)
    except (ValueError, TypeError) as error:
        raise ValueError(f"preload: expected the specialization_data of a hook, found {text!r} ({error})") from None
    if not isinstance(data, dict) or (missing := [field for field in FIELDS if field not in data]):
        lacks = "" if not isinstance(data, dict) else f" without {', '.join(missing)}"
        raise ValueError(f"preload: expected the specialization_data of a hook, found JSON of another kind{lacks}")
    return data


def preload(function: Any, text: str) -> Any:
    """Compiles what `text` describes and keeps it, so that the launch that it was made of finds it."""
    from naiad.runtime.devices import Compilation

    data = read(text)
    if data["name"] != function._fn_name:
        raise RuntimeError(f"Specialization data is for {data['name']} but trying to preload for {function._fn_name}")
    device = function.device_caches.of((), {}, warmup=True)
    if data["target"] != vars(device.target):
        raise RuntimeError(f"Specialization data is for {data['target']} but trying to preload for {device.target}")
    paths = [tuple(path) for path in data["constant_keys"]]
    constants = {path: decode(value) for path, value in zip(paths, data["constant_vals"], strict=True)}
    attrs = {tuple(path): value for path, value in zip(data["attrs_keys"], data["attrs_vals"], strict=True)}
    signature = {name: decode(kind) for name, kind in data["signature"].items()}
    options = device.backend.parse_options({name: decode(value) for name, value in data["options"].items()})
    return Compilation(device, data["key"], signature, constants, attrs, options).run(warmup=True)
