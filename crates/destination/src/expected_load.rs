//! The load that a run is expected to do. A preflight asks for the hazards of such a load.

/// A load that is expected. A preflight asks twice for its hazards: before it measures anything, without the volume,
/// and then with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedLoad {
    /// The number of streams; each has a session if the destination has sessions.
    pub streams: usize,
    /// What the load writes; `None` before it is measured.
    pub volume: Option<LoadVolume>,
}

/// What a load is expected to write, estimated from a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadVolume {
    /// Bytes of text that are left to load into all targets.
    pub text_bytes: u64,
    /// Bytes of the destination's tables; `None` if no sample was loaded there.
    pub table_bytes: Option<u64>,
    /// Bytes of the destination's log; `None` if they were not measured.
    pub log_bytes: Option<u64>,
}
