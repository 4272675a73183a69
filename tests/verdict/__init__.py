"""Loads held back on purpose, and what the verdict and the meters say of them."""
