"""Which configurations cannot run on a device, as far as that is certain before anything is compiled.

Shared memory is not among the reasons: how much a kernel takes for its `num_stages` is known when it is compiled.
"""

from collections.abc import Mapping
from typing import Any

from naiad.errors import OutOfResources

__all__ = ["refusal"]


def refusal(device: Any, options: Mapping[str, Any]) -> Exception | None:
    """Why a launch with these options is not legal on `device` (of a kernel's `device_caches`); None if it may be.

    The backend says which values its options have (num_warps, num_ctas, ...); the device, how many threads it runs.
    """
    try:
        parsed = device.backend.parse_options(dict(options))
    except (AssertionError, ValueError) as error:
        return error
    width = device.target.warp_size
    warps = getattr(parsed, "num_warps", None)
    if width <= 1 or warps is None or options.get("ir_override"):  # IR says itself how many warps it is for
        return None
    limit = device.driver.utils.get_device_properties(device.driver.get_current_device()).get("max_threads_per_block")
    if limit is not None and warps * width > limit:
        return OutOfResources(warps * width, limit, "threads")
    return None
