//! The fast scanner finds what the slow one finds, in one text or two.

#![no_main]

#[path = "../../crates/scan/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::scanner_input(input));
