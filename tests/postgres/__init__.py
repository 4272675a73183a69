"""What only PostgreSQL can do: partitions, routing, refused rows, the switch, TLS, guests."""
