"""Values of every type, format and setting, held against an independent reader."""
