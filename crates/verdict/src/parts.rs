//! The parts of a stream's time: finer than causes, because different parts of a cause need different changes.

use crate::verdict::Cause;

/// All causes, in the order in which data passes through them.
pub(crate) const CAUSES: [Cause; 16] = [
    Cause::SourceRead,
    Cause::SourceDatabaseCpu,
    Cause::SourceDatabaseDisk,
    Cause::SourceDatabaseNetwork,
    Cause::Decompression,
    Cause::ClientCpu,
    Cause::TransformCpu,
    Cause::NetworkLatency,
    Cause::NetworkRate,
    Cause::NetworkLoss,
    Cause::DestinationCpu,
    Cause::DestinationDisk,
    Cause::DestinationLocks,
    Cause::Coordination,
    Cause::Pace,
    Cause::Undecided,
];

/// A part of a stream's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Part {
    /// It read a file itself, or waited for the rows of a source database without a known reason.
    FileRead,
    /// It waited for a backend of the source's server that computed, or waited for a CPU.
    SourceCompute,
    /// It waited for a backend of the source's server whose process was stopped.
    SourceStopped,
    /// It waited for a backend of the source's server that read or wrote files.
    SourceFiles,
    /// It waited for rows that the network from the source's server had not delivered.
    SourceNetwork,
    /// It received rows that the source's backend had ready.
    Receive,
    /// It waited for a feed that read.
    FeedRead,
    /// It decompressed itself.
    FileDecompress,
    /// It waited for a feed that decompressed.
    FeedDecompress,
    /// It waited for a feed that found record ends, or was between its phases.
    FeedScan,
    /// It scanned, converted, verified or encoded.
    Work,
    /// It passed rows through the steps of their flow.
    Transform,
    /// It was between phases, on a CPU or waiting for one.
    Between,
    /// It waited until its block was taken, while the backend waited for bytes, and the network does not explain it:
    /// the loader's own threads pass blocks on too late.
    HandOver,
    /// The window was too small for the round trip.
    Window,
    /// It waited for an answer in transit.
    RoundTrips,
    /// The link carried no more.
    LinkRate,
    /// Segments were lost.
    Loss,
    /// The backend computed, or waited for a CPU.
    Compute,
    /// The backend's process was stopped.
    Stopped,
    /// The backend wrote WAL.
    Wal,
    /// The backend read or wrote data files.
    DataFile,
    /// The backend waited for a lock that another session held.
    Lock,
    /// The backend waited for a lock inside the server. The advice is the same as for other locks: fewer accesses to
    /// the same object at once.
    Internal,
    /// The stream had no work yet.
    NotBegun,
    /// It was idle between two pieces of work.
    Idle,
    /// It had no work any more.
    Ended,
    /// It was held back by a limit of the package.
    Pace,
    /// It waited for the destination, which was not sampled often enough.
    Unsampled,
    /// It waited for a backend that waited for something not listed here.
    OtherWait,
    /// It waited for a feed that was not measured, or its own time was not measured.
    Unmeasured,
}

const PARTS: [Part; 31] = [
    Part::FileRead,
    Part::SourceCompute,
    Part::SourceStopped,
    Part::SourceFiles,
    Part::SourceNetwork,
    Part::Receive,
    Part::FeedRead,
    Part::FileDecompress,
    Part::FeedDecompress,
    Part::FeedScan,
    Part::Work,
    Part::Transform,
    Part::Between,
    Part::HandOver,
    Part::Window,
    Part::RoundTrips,
    Part::LinkRate,
    Part::Loss,
    Part::Compute,
    Part::Stopped,
    Part::Wal,
    Part::DataFile,
    Part::Lock,
    Part::Internal,
    Part::NotBegun,
    Part::Idle,
    Part::Ended,
    Part::Pace,
    Part::Unsampled,
    Part::OtherWait,
    Part::Unmeasured,
];

impl Part {
    /// The cause that it belongs to.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Part::FileRead | Part::FeedRead => Cause::SourceRead,
            Part::SourceCompute | Part::SourceStopped => Cause::SourceDatabaseCpu,
            Part::SourceFiles => Cause::SourceDatabaseDisk,
            Part::SourceNetwork => Cause::SourceDatabaseNetwork,
            Part::FileDecompress | Part::FeedDecompress => Cause::Decompression,
            Part::Receive | Part::FeedScan | Part::Work | Part::Between | Part::HandOver => {
                Cause::ClientCpu
            }
            Part::Transform => Cause::TransformCpu,
            Part::Window | Part::RoundTrips => Cause::NetworkLatency,
            Part::LinkRate => Cause::NetworkRate,
            Part::Loss => Cause::NetworkLoss,
            Part::Compute | Part::Stopped => Cause::DestinationCpu,
            Part::Wal | Part::DataFile => Cause::DestinationDisk,
            Part::Lock | Part::Internal => Cause::DestinationLocks,
            Part::NotBegun | Part::Idle | Part::Ended => Cause::Coordination,
            Part::Pace => Cause::Pace,
            Part::Unsampled | Part::OtherWait | Part::Unmeasured => Cause::Undecided,
        }
    }
}

/// Seconds, or shares, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByPart([f64; PARTS.len()]);

impl ByPart {
    /// The value of one part.
    pub(crate) fn of(&self, part: Part) -> f64 {
        self.0[part as usize]
    }

    /// The value of all parts of a cause.
    pub(crate) fn of_cause(&self, cause: Cause) -> f64 {
        PARTS
            .iter()
            .filter(|part| part.cause() == cause)
            .map(|&part| self.of(part))
            .sum()
    }

    /// The total.
    pub(crate) fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Adds to a part.
    pub(crate) fn add(&mut self, part: Part, value: f64) {
        self.0[part as usize] += value;
    }

    /// Adds all parts of another, multiplied by a factor.
    pub(crate) fn add_all(&mut self, other: &ByPart, times: f64) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other * times;
        }
    }

    /// The same proportions with another total; all zero if there is nothing.
    pub(crate) fn scaled_to(mut self, total: f64) -> ByPart {
        let now = self.total();
        if now > 0.0 {
            for value in &mut self.0 {
                *value *= total / now;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_at_their_own_places() {
        for (index, &part) in PARTS.iter().enumerate() {
            assert_eq!(part as usize, index);
        }
        for (index, &cause) in CAUSES.iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
    }
}
