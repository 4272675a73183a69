"""Runs left by the build of commit e68f33c; later builds must resume them."""
