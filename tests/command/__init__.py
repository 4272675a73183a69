"""The command and its Python API: options, output, packages, guesses, reports, workloads."""
