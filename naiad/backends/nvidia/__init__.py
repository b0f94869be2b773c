"""The NVIDIA backend: ttir -> ttgir -> LLVM text -> PTX -> cubin."""
