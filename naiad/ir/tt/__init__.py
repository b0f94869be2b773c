"""The `tt` dialect, a file a family of ops."""
