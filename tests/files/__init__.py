"""How files are read: their formats, their faults, and large ones in ranges."""
