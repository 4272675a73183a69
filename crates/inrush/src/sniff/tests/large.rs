//! Files that are too large to be read whole.
