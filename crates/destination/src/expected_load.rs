//! The size of the load that a run is expected to do. A preflight asks for the hazards of such a load.

/// How much a run is expected to load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedLoad {
    /// Bytes of text that are left to load into all targets, estimated from the sample.
    pub text_bytes: u64,
}
