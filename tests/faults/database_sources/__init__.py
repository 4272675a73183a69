"""Faults of loads whose rows come from databases."""
