//! Packages that are written of guesses.
