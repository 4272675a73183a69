//! How much a run is expected to load, for the hazards that a preflight asks for.

/// How much a run is expected to load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedLoad {
    /// Bytes of text that are left to load into all targets, estimated from the sample.
    pub text_bytes: u64,
}
