"""What only PostgreSQL can: partitions, routing, refused rows, the switch, TLS, guests."""
