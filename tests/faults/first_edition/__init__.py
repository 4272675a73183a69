"""Runs that the build of commit e68f33c left, so that later builds are held to resume them."""
