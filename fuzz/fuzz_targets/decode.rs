//! A field means what a plain reading of the rules says.

#![no_main]

#[path = "../../crates/scan/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::decode_input(input));
