//! Reports runs to a lineage catalog: sends events of [OpenLineage](https://openlineage.io) to a URL, or appends them
//! to a file.
//!
//! [`events`] makes them from the engine's events and report; [`datasets`] names sources and targets. [`Emitter`] sends
//! them from a separate thread ([`transport`]), so a server that does not answer cannot delay a load or make it fail.
//!
//! | event | when |
//! |---|---|
//! | `START` | the run is in the ledger, and loading begins; again if the run is resumed |
//! | `RUNNING` | each minute, and before the switch |
//! | `COMPLETE`, `FAIL`, `ABORT` | at the end: the rows are in their targets, the run failed, or it was interrupted. If a run fails before it is in the ledger, this is its only event |

mod column_lineage;
mod datasets;
mod emitter;
mod events;
mod facets;
mod own_facets;
mod transport;

pub use emitter::{Emitter, End};
pub use transport::Destination;
