"""Loads that are killed, stopped or cut off, or that find changed files or ledgers."""
