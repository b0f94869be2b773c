"""What tuning is made of: which configurations are tried at all, compiling ahead, trial runs, times, the report."""
