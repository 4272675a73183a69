//! Tells a catalog of lineage what a run does: events of [OpenLineage](https://openlineage.io), in a file or to a URL.
//!
//! [`events`] makes them of what the engine says of a run; [`datasets`] names sources and targets. [`Emitter`] sends them
//! from a thread of its own ([`transport`]), so that a server which does not answer holds no load up, and fails none.
//!
//! | event | when |
//! |---|---|
//! | `START` | the run is in the ledger, and loading begins; again if the run is resumed |
//! | `RUNNING` | each minute, and before the switch |
//! | `COMPLETE`, `FAIL`, `ABORT` | at the end: its rows are in their targets, it failed, or it was interrupted; alone, if the run failed before it was in the ledger |

mod datasets;
mod emitter;
mod events;
mod facets;
mod own_facets;
mod transport;

pub use emitter::{Emitter, End};
pub use transport::Destination;
