"""Tests every destination against docs/specs/destination.md, clause by clause."""
