//! What a run measured, and what that says of what held it back. No I/O, no clock: the engine measures, the report
//! keeps, and whoever has a report can ask once more.

mod measurements;
mod verdict;

pub use measurements::{
    BackendSamples, BackendSeries, BackendState, FeedSeries, MachineSeries, Measurements, PHASES,
    Phase, ServerMeasurements, StreamSeries, TableSeries, TcpSeries,
};
pub use verdict::{Advice, Cause, CauseShare, StreamAttribution, Verdict};
