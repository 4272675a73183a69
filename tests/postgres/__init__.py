"""Tests of abilities that only PostgreSQL has: partitions, routing, refused rows, switch, TLS."""
