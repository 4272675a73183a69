"""Loads that are killed, stopped or cut off, or that find less than was there."""
