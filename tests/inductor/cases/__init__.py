"""What is compiled, a file a family. Imported by `worker.py` only: these modules need torch and Triton's names."""
