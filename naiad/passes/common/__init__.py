"""Passes that work on ttir, ttgir and ttcir alike."""
