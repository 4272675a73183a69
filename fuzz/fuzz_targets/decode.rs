//! Compares the decoding of fields with a plain implementation of the rules.

#![no_main]

#[path = "../../crates/scan/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::decode_input(input));
