"""Faults of loads into destinations that are files."""
