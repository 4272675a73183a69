"""Loads slowed down on purpose, and their verdicts and measurements."""
