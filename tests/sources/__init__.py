"""Loads whose rows come from a database."""
