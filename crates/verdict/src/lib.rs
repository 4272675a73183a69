//! What a run measured, and what that says of what held it back. No I/O, no clock: the engine measures, the report
//! keeps, and whoever has a report can ask once more.
//!
//! [`verdict()`] divides the time of each stream completely. What a stream did itself is measured (`timeline`); what it
//! waited for is told by the other side: the feeds (`feeding`), the samples of its backend (`samples`, `waits`), its
//! connection (`network`). The sums are held against what else is known of the run (`facts`, `cpu`, `tail`), and worded
//! (`evidence`, `advice` with its `gain`, `line`).

mod advice;
mod attribute;
mod cpu;
mod decide;
mod evidence;
mod facts;
mod feeding;
mod gain;
mod line;
mod measurements;
mod network;
mod numbers;
mod parts;
pub mod quantity;
mod samples;
mod tail;
mod timeline;
mod verdict;
mod waits;

pub use decide::verdict;
pub use measurements::{
    BackendSamples, BackendSeries, BackendState, FeedSeries, MachineSeries, Measurements, PHASES,
    Phase, ServerMeasurements, StreamSeries, TableSeries, TcpSeries,
};
pub use verdict::{Advice, Cause, CauseShare, StreamAttribution, Verdict};
