//! Compares descriptions and keys of units with a file of them, in tests of this crate and of destinations.

use inrush_rows::ids::RunKey;

use super::unit_key;

/// Panics unless a file has exactly these descriptions. The file has a line for each: its name, the key of a unit with this
/// description, and the description.
#[doc(hidden)]
pub fn assert_golden(golden: &str, described: &[(&str, String)]) {
    let run = RunKey::new("run");
    let found: String = described
        .iter()
        .map(|(name, text)| format!("{name} {} {text}\n", unit_key(&run, text, &[])))
        .collect();
    assert!(
        golden == found,
        "descriptions of units have changed; these were:\n{golden}\nand these are:\n{found}"
    );
}
