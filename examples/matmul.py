"""Matrix product with tiles in groups of rows, so that programs that run together share tiles of B in the cache."""

import naiad as triton
import naiad.language as tl
from naiad.testing import assert_close, empty, random, to_float64


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)

    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=mask)


def blocks(a, K):
    """Tile sizes: on a GPU what shared memory holds, on a CPU what the second cache holds."""
    if getattr(getattr(a, "device", "cpu"), "type", "cpu") != "cpu":
        return {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32 if a.dtype.itemsize == 4 else 64, "GROUP_M": 8}
    high, deep, group = (256, 512, 8) if a.dtype.itemsize == 4 else (512 if a.shape[0] >= 1024 else 256, 256, 1)
    deep = min(deep, max(16, triton.next_power_of_2(K)))
    return {"BLOCK_M": high, "BLOCK_N": 256, "BLOCK_K": deep, "GROUP_M": group}


def matmul(a, b, out):
    """out = a @ b, two-dimensional contiguous arrays."""
    (M, K), N = a.shape, b.shape[1]
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)  # noqa: E731
    matmul_kernel[grid](a, b, out, M, N, K, K, 1, N, 1, N, 1, **blocks(a, K))
    return out


if __name__ == "__main__":
    a, b = random((300, 200), seed=0), random((200, 170), seed=1)
    assert_close(matmul(a, b, empty((300, 170))), to_float64(a) @ to_float64(b), atol=1e-4, rtol=1e-4)
    print("matmul: right")
