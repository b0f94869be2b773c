"""TensorDescriptor: a tensor with its shape, strides and the shape of the blocks that a kernel reads and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from naiad.backends.arguments import address


def checked_block(shape: Sequence[int]) -> None:
    """Raises TypeError or ValueError where a tile cannot have the shape."""
    count = 1
    for i, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if size <= 0 or size & (size - 1):
            raise ValueError(f"Shape element {i} must be a power of 2")
        count *= size
    if count > 2**20:
        raise ValueError(f"numel ({count}) exceeds triton maximum tensor numel ({2**20})")


@dataclass
class TensorDescriptor:
    """An argument of a kernel. `strides` in elements, the last is 1; `padding`: what outside reads as (zero, nan)."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        rank = len(self.shape)
        assert len(self.strides) == rank and len(self.block_shape) == rank, f"rank mismatch: {self}"
        assert 0 < rank <= 5, "rank must be 1 to 5"
        checked_block(self.block_shape)
        if type(self.base).__name__ not in ("FakeTensor", "FunctionalTensor"):
            assert address(self.base) % 16 == 0, "base must be 16-byte aligned"
        size = self.base.dtype.itemsize
        assert all(stride * size % 16 == 0 for stride in self.strides[:-1]), "strides must be 16-byte aligned"
        assert self.strides[-1] == 1, "Last dimension must be contiguous"
        assert all(extent > 0 for extent in self.shape), "shape must be positive"
        assert self.padding in ("zero", "nan"), "Illegal value for padding"
        if self.padding == "nan":
            assert "float" in str(self.base.dtype), "Padding option `nan` is only supported for floating point tensors"

    @property
    def is_cpu(self) -> bool:
        return getattr(self.base, "is_cpu", True)

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: Sequence[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> "TensorDescriptor":
        """The descriptor of a whole tensor of torch, or array of numpy."""
        if hasattr(tensor, "stride"):
            strides = tensor.stride()
        else:
            strides = [stride // tensor.itemsize for stride in tensor.strides]
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)
