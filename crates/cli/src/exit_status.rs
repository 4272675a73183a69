//! Exit statuses that are the command's own; the others are those of the errors that end it.

/// A mistake in the arguments.
pub const USAGE: u8 = 2;

/// A signal ended the command.
pub const INTERRUPTED: u8 = 130;
