"""Steps of flows against a reference in plain Python."""
