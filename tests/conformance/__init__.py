"""Every destination held to docs/specs/destination.md, clause by clause."""
