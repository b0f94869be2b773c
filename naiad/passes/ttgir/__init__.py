"""Passes from ttir to ttgir, and on ttgir: layouts, conversions, matrix instructions, software pipelining."""
