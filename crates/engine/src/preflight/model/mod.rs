//! Calculates the time of a run from the measurements. It does no I/O.
//!
//! Speeds are used as they were measured, with one stream and with all of them at once, and never multiplied by a
//! number of streams that was not tried, because streams share cores, disks and the server. Three things are
//! calculated: how the pieces of work are assigned to the streams, the largest first; the time that each piece needs
//! beside its rows (creating its table, counting, indexes, COMMIT); and the limits that all streams share (the source's
//! disk, the one reader of a compressed file, a rate limit of the package), if one of them takes longer than the
//! streams. A source database is the limit if reading alone takes about as long as all steps together, or if the
//! streams wait mostly for its rows.

mod answer;
mod schedule;

pub use answer::{Answer, ObservedLoad, SharedSeconds, answer};
pub use schedule::{Beside, Speed, WorkPiece, schedule};
