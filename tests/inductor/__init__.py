"""torch.compile on the CPU with naiad in Triton's place."""
