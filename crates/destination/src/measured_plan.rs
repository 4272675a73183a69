//! A plan as a preflight measures it. The engine chooses the sample, makes the trial loads, lists the work that is left, and
//! predicts the run. The destination measures its network and its log, and computes the time that a run needs apart from its
//! rows.
//!
//! All text is counted in bytes of UTF-8, without headers, and all times are in seconds.

use inrush_rows::finding::Finding;

use crate::error::Result;
use crate::expected_load::ExpectedLoad;
use crate::trial_load::{EncodeRows, TrialPlace};

/// A plan with its destination. A preflight first asks for the [hazards](Self::hazards), then for the measurements in the
/// order in which they are listed here, and then for the figures of its prediction. Targets and units are named by their
/// index in the plan.
///
/// If a measurement fails and the destination still answers, the preflight says so and continues without the figure.
pub trait MeasuredPlan: Sync {
    /// The hazards of such a load, as [`Destination::hazards`](crate::Destination::hazards) answers.
    fn hazards(&self, expected: &ExpectedLoad) -> Result<Vec<Finding>>;

    /// Makes an encoder of the target's rows, for one thread; `None` if the destination takes batches.
    fn encoder(&self, _target: usize) -> Option<Box<dyn EncodeRows>> {
        None
    }

    /// True if the streams of a trial load rows of units of the plan. Otherwise one sample serves all units of a target.
    fn tries_units(&self) -> bool {
        false
    }

    /// Measures the network to the destination, by this number of streams.
    fn network(&self, _streams: usize) -> Result<Available<NetworkSpeed>> {
        let why = "the network to this destination is not measured";
        Ok(Available::No(why.to_owned()))
    }

    /// The place of trial loads.
    fn trial_place(&self) -> Result<Available<Box<dyn TrialPlace + '_>>>;

    /// Measures the destination's log, by this number of streams; `None` if the destination has no log, or none that can
    /// be measured.
    fn log(&self, _streams: usize) -> Result<Option<Available<LogSpeed>>> {
        Ok(None)
    }

    /// The seconds of a piece of work in addition to its rows. The default is the time of the trial's COMMITs, in proportion
    /// to the text.
    fn beside_rows(&self, piece: &PieceOfWork<'_>, measured: &MeasuredLoad) -> SecondsBesideRows {
        let tried = piece.like;
        let text_of_stream = tried.text_bytes.max(1.0) / measured.streams.max(1) as f64;
        SecondsBesideRows {
            server_s: 0.0,
            // The time of a COMMIT depends on what it flushes.
            flush_s: tried.ready_s * piece.text_bytes / text_of_stream,
        }
    }

    /// The seconds of a run before its streams begin and after they have ended. The default is the time of planning, and the
    /// time of the trial's publish in proportion to the text.
    fn around_streams(&self, measured: &MeasuredLoad) -> SecondsAroundStreams {
        let publish = measured.tried.iter().map(|tried| {
            let times = tried.text_bytes_left / tried.text_bytes.max(1.0);
            tried.publish_s.unwrap_or(0.0) * times
        });
        SecondsAroundStreams {
            before_s: measured.plan_s,
            publish_s: publish.sum(),
            ..SecondsAroundStreams::default()
        }
    }

    /// Bytes that a run would write to the destination's log for the rows of all trials; `None` if that is not known. The
    /// default is what the trials have written. It is another number if a run loads into other kinds of tables.
    fn log_bytes(&self, measured: &MeasuredLoad) -> Option<f64> {
        measured.tried.iter().map(|tried| tried.log_bytes).sum()
    }

    /// The parts of the run that the prediction does not cover, each in words.
    fn leaves_out(&self) -> Vec<String> {
        Vec::new()
    }

    /// One more part that the prediction does not cover, if the load takes more than a minute.
    fn leaves_out_if_long(&self) -> Option<String> {
        None
    }

    /// Findings about the predicted run.
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// A measurement or a place for one, or the reason why the destination has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Available<T> {
    /// It is there.
    Yes(T),
    /// It is not there. The reason is a sentence for the report, without a full stop.
    No(String),
}

impl<T> Available<T> {
    /// What is made of it, if it is there.
    pub fn try_map<U>(self, make: impl FnOnce(T) -> Result<U>) -> Result<Available<U>> {
        Ok(match self {
            Available::Yes(it) => Available::Yes(make(it)?),
            Available::No(why) => Available::No(why),
        })
    }
}

/// The speed of the network to a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkSpeed {
    /// Bytes in a second, by one connection.
    pub one_bytes_s: f64,
    /// Bytes in a second, by all connections at once.
    pub all_bytes_s: f64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Seconds that the measurement took.
    pub took_s: f64,
    /// Seconds of a round trip.
    pub round_trip_s: f64,
}

/// The speed of a destination's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogSpeed {
    /// Seconds of a COMMIT that has little to flush.
    pub commit_s: f64,
    /// Flushed bytes in a second, by all connections at once.
    pub all_bytes_s: f64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Seconds that the measurement took.
    pub took_s: f64,
    /// True if a COMMIT waits until the log is on the disk.
    pub is_flushed: bool,
    /// The setting that decides what is written to the log, in the words of the destination: `wal_level = replica`.
    pub setting: String,
}

/// The measurements of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredLoad {
    /// Streams of the run. Each trial in [`tried`](Self::tried) had the same number.
    pub streams: usize,
    /// Seconds that the preflight took for its plan.
    pub plan_s: f64,
    /// The network, if it was measured.
    pub network: Option<NetworkSpeed>,
    /// The log, if it was measured.
    pub log: Option<LogSpeed>,
    /// The targets with a trial of all steps together by all streams, the largest first.
    pub tried: Vec<TriedTarget>,
}

impl MeasuredLoad {
    /// Bytes of the tables of all trials.
    pub fn table_bytes(&self) -> f64 {
        self.tried.iter().map(|tried| tried.table_bytes).sum()
    }

    /// Bytes of the text of all trials.
    pub fn text_bytes(&self) -> f64 {
        self.tried.iter().map(|tried| tried.text_bytes).sum()
    }
}

/// The trial of a target: all steps together, by all streams. Its seconds are means of the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TriedTarget {
    /// The target.
    pub target: usize,
    /// The unit of the first stream; `None` if one sample served all units.
    pub unit: Option<usize>,
    /// Bytes of text that all streams have loaded.
    pub text_bytes: f64,
    /// The mean number of rows of a stream.
    pub rows_of_stream: f64,
    /// Bytes of the tables of all streams; 0 if they are not known.
    pub table_bytes: f64,
    /// Bytes of the log that were written meanwhile; `None` if they are not known.
    pub log_bytes: Option<f64>,
    /// Seconds of connecting.
    pub connect_s: f64,
    /// Seconds of creating the table.
    pub create_s: f64,
    /// Seconds of counting and verifying.
    pub measure_s: f64,
    /// Seconds of constraints and indexes, and of the COMMIT if the trial has one.
    pub ready_s: f64,
    /// Seconds of ANALYZE.
    pub analyze_s: f64,
    /// Seconds of the publish; `None` if it only changes metadata.
    pub publish_s: Option<f64>,
    /// Bytes of text that are left to load into this target, and into the targets that were not tried and are assumed to
    /// be like it.
    pub text_bytes_left: f64,
    /// Rows that are left, of the same targets.
    pub rows_left: f64,
}

/// A piece of work that is left: a unit that one stream loads, or a part of one that several streams load.
#[derive(Clone, Copy, Debug)]
pub struct PieceOfWork<'a> {
    /// The target.
    pub target: usize,
    /// The unit.
    pub unit: usize,
    /// True if it is the first piece of a stream, which connects before it.
    pub is_first_of_stream: bool,
    /// True if no later piece belongs to the same unit.
    pub is_last_of_unit: bool,
    /// Its bytes of text.
    pub text_bytes: f64,
    /// Bytes of text of all pieces that are left of its unit, this one included.
    pub unit_text_bytes: f64,
    /// The trial that it is assumed to be like.
    pub like: &'a TriedTarget,
}

/// Seconds that a piece of work takes in addition to its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondsBesideRows {
    /// Creating the table, counting, indexes, statistics, and their round trips.
    pub server_s: f64,
    /// Waiting at COMMIT until the destination has flushed its writes, if nothing else is flushed at that time.
    pub flush_s: f64,
}

/// Seconds of a run before its streams and after them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondsAroundStreams {
    /// Planning, and the ledger's work before the streams begin.
    pub before_s: f64,
    /// The publish.
    pub publish_s: f64,
    /// ANALYZE after the publish.
    pub analyze_s: f64,
    /// The part of the publish and of ANALYZE that is the same for a load of any size.
    pub after_fixed_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl MeasuredPlan for Plain {
        fn hazards(&self, _: &ExpectedLoad) -> Result<Vec<Finding>> {
            Ok(Vec::new())
        }

        fn trial_place(&self) -> Result<Available<Box<dyn TrialPlace + '_>>> {
            Ok(Available::No("nothing is tried".to_owned()))
        }
    }

    #[test]
    fn the_times_of_a_trial_grow_with_the_text() {
        let tried = TriedTarget {
            text_bytes: 1_000.0,
            ready_s: 0.5,
            publish_s: Some(2.0),
            text_bytes_left: 4_000.0,
            ..TriedTarget::default()
        };
        let measured = MeasuredLoad {
            streams: 2,
            plan_s: 0.25,
            tried: vec![tried],
            ..MeasuredLoad::default()
        };
        // Each of the two streams has loaded 500 bytes in the trial.
        let piece = PieceOfWork {
            target: 0,
            unit: 0,
            is_first_of_stream: true,
            is_last_of_unit: true,
            text_bytes: 1_500.0,
            unit_text_bytes: 1_500.0,
            like: &measured.tried[0],
        };
        let beside = Plain.beside_rows(&piece, &measured);
        assert_eq!((beside.server_s, beside.flush_s), (0.0, 1.5));
        let around = Plain.around_streams(&measured);
        assert_eq!((around.before_s, around.publish_s), (0.25, 8.0));
        assert_eq!(Plain.log_bytes(&measured), None);
    }
}
