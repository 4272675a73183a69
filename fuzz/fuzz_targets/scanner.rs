//! The fast scanner finds the same records as the slow one, in a whole text and in a text that is cut in two.

#![no_main]

#[path = "../../crates/scan/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::scanner_input(input));
