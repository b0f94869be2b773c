"""What a user's own @builtin in Triton's style finds in `_semantic`: the builder, and functions by name."""

from typing import Any

from naiad.language.builder import Builder, builder
from naiad.language.promotion import scalar_constant, to_tensor
from naiad.language.tensor import tensor


class Semantic:
    """`_semantic.to_tensor(x)`, `_semantic.add(x, y)`; `_semantic.builder` is the builder at work."""

    tensor = tensor
    to_tensor = staticmethod(to_tensor)
    scalar_constant = staticmethod(scalar_constant)

    @property
    def builder(self) -> Builder:
        return builder()

    def __getattr__(self, name: str) -> Any:
        from naiad import language

        return getattr(language, name)


semantic = Semantic()
