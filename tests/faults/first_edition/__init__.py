"""Runs that the build of commit e68f33c left unfinished; later builds must resume them."""
