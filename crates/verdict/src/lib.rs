//! The measurements of a run, and the verdict: what limited it. This crate does no I/O and reads no clock: the engine
//! measures, the report keeps the measurements, and the verdict can be computed again from any report.
//!
//! [`verdict()`] divides the time of each stream completely. The work of the stream itself is measured (`timeline`).
//! The reason for each wait is found from the other side: the feeds (`feeding`), the samples of the stream's backend
//! (`samples`, `waits`), the samples of the source's backend that sends it rows (`source_waits`), and the stream's
//! connection (`network`). The sums are checked against other facts of the run (`facts`, `cpu`, `tail`), and put into
//! words (`evidence`, `advice` with its `gain`, `source_words` for the causes of a source database, `line`). A load
//! that is over within a second has no verdict (`too_short`). `docs/design/verdict.md` describes how a wait is divided.

mod advice;
mod attribute;
mod backend_time;
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
mod samples;
mod source_waits;
mod source_words;
mod stepping;
mod tail;
mod tally;
mod timeline;
mod too_short;
mod verdict;
mod wait_events;
mod waits;

pub use decide::verdict;
pub use measurements::{
    BackendSamples, BackendSeries, BackendState, FeedSeries, MachineSeries, Measurements, PHASES,
    Phase, ServerKind, ServerMeasurements, SourceServerMeasurements, StoredUnits, StreamSeries,
    TableSeries, TcpSeries,
};
pub use tally::{BackendTally, SeenSession};
pub use too_short::is_too_short;
pub use verdict::{Advice, Cause, CauseShare, StreamAttribution, Verdict};
