"""Values of every type, format and setting, compared with an independent reader."""
