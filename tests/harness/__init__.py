"""Servers, packages, comparisons and faults that tests and benchmarks share."""
