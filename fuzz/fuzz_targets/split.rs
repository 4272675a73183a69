//! Ranges of a file hold the records that a serial scan finds.

#![no_main]

#[path = "../../crates/scan/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::split_input(input));
