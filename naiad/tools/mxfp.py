"""Microscaling formats in torch, element by element: MXFP4Tensor (E2M1) and MXScaleTensor (E8M0, a power of two).

Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5.3.3 and 5.4.1.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The magnitudes of E2M1 by their three low bits; the fourth is the sign."""
SCALE_BIAS, SCALE_NAN = 127, 255


class _Encoded:
    """Codes (uint8) in `data`, from float32 numbers, or of a size to be filled by `random()`."""

    data: torch.Tensor

    def __init__(self, data: torch.Tensor | None = None, size: Any = None, device: Any = None) -> None:
        if data is None and size is None:
            raise ValueError("Either parameter data or size must be provided")
        self.device = device if data is None else data.device
        if data is not None:
            self.data = self._from_float(data)
        else:
            self.size = tuple(size) if isinstance(size, tuple | list | torch.Size) else (size,)

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def _random_codes(self, low: int, high: int) -> torch.Tensor:
        return torch.randint(low, high, self.size, dtype=torch.uint8, device=self.device)


class MXFP4Tensor(_Encoded):
    """E2M1 numbers, one to a byte. Rounded to nearest, ties to even; what is too large, infinite or NaN becomes 6."""

    def random(self) -> "MXFP4Tensor":
        """Fills with random codes."""
        self.data = self._random_codes(0, 16)
        return self

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The numbers as float32."""
        assert dtype == torch.float32, "Currently only float32 is supported for fp4e2m1 to float conversion"
        magnitudes = torch.tensor(E2M1, dtype=dtype, device=self.data.device)[(self.data & 7).long()]
        return torch.where(self.data >= 8, -magnitudes, magnitudes)

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        values = values.float()
        magnitudes = torch.nan_to_num(values.abs(), nan=E2M1[-1])
        codes = torch.zeros(values.shape, dtype=torch.uint8, device=values.device)
        for code, (below, above) in enumerate(itertools.pairwise(E2M1)):
            middle = (below + above) / 2
            up = magnitudes >= middle if code % 2 else magnitudes > middle  # the tie goes to the even code
            codes += up.to(torch.uint8)
        return codes | torch.signbit(values).to(torch.uint8) << 3

    def to_packed_tensor(self, dim: int) -> torch.Tensor:
        """Two numbers to a byte along `dim`, the first in the low bits; an odd size is padded with a zero."""
        data = self.data
        assert 0 <= dim < data.ndim, "The dimension to pack along is not within the range of tensor dimensions"
        if data.shape[dim] % 2:
            data = torch.cat([data, torch.zeros_like(data.narrow(dim, 0, 1))], dim)
        pairs = data.unflatten(dim, (data.shape[dim] // 2, 2))
        return pairs.select(dim + 1, 0) | pairs.select(dim + 1, 1) << 4

    def unpack_packed_tensor(self, packed: torch.Tensor, dim: int, original_shape: Sequence[int]) -> torch.Tensor:
        """What `to_packed_tensor` packed: one number to a byte, in the shape that it had."""
        pairs = torch.stack((packed & 15, packed >> 4), dim + 1)
        return pairs.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).contiguous()


class MXScaleTensor(_Encoded):
    """E8M0 scales: 2 ** (code - 127), 255 is NaN. From floats: the power of two below; NaN for what is not positive."""

    def random(self, low: float | None = None, high: float | None = None) -> "MXScaleTensor":
        """Fills with random scales, from `low` to `high` where these are given."""
        smallest, largest = (
            (0 if low is None else self._code(low)),
            (SCALE_NAN - 1 if high is None else self._code(high)),
        )
        assert smallest <= largest, "Low must be less than or equal to high"
        self.data = self._random_codes(smallest, largest + 1)
        return self

    @staticmethod
    def _code(value: float) -> int:
        return max(0, min(SCALE_NAN - 1, int(torch.log2(torch.tensor(value))) + SCALE_BIAS))

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        """The scales as float32."""
        assert dtype == torch.float32, "Currently only float32 is supported for f8e8m0 to float conversion"
        scales = torch.ldexp(torch.ones_like(self.data, dtype=dtype), self.data.int() - SCALE_BIAS)
        return torch.where(self.data == SCALE_NAN, torch.nan, scales)

    def _from_float(self, values: torch.Tensor) -> torch.Tensor:
        values = values.float()
        valid = torch.isfinite(values) & (values > 0)
        _, exponent = torch.frexp(torch.where(valid, values, 1.0))  # values are in [0.5, 1) * 2**exponent
        codes = (exponent - 1 + SCALE_BIAS).clamp(0, SCALE_NAN - 1)
        return torch.where(valid, codes, SCALE_NAN).to(torch.uint8)
