//! The id of a load unit.

use super::short;

text_key! {
    /// The digest of a load unit: of its run's key, the description of all settings that affect its rows, and its
    /// splits with the sizes of their files. It ends with the version of the description. The engine computes it for
    /// the plan; a unit in a ledger is kept if the plan has one with the same key.
    UnitKey
}

impl UnitKey {
    /// The first digits, as they appear in the names of staging tables and reject files.
    pub fn short(&self) -> &str {
        short(self.as_str())
    }
}
