//! The long tail: the time at the end in which most streams have no work any more.

use crate::attribute::Attributed;
use crate::feeding::Feeding;
use crate::parts::CAUSES;
use crate::verdict::Cause;

/// A stream is slow if it reads at less than this share of the others' rate.
const SLOW: f64 = 0.6;

/// The long tail of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tail {
    /// The stream that ended last.
    pub stream: usize,
    /// Seconds of the run after half of the streams had ended.
    pub length_s: f64,
    /// The number of streams that ran for most of that time.
    pub running: usize,
    /// The largest cause in that time.
    pub cause: Cause,
    /// The share of this cause in the tail.
    pub share: f64,
    /// Bytes of text a second that it read in the tail.
    pub rate: f64,
    /// The median rate of the other streams before the tail.
    pub others_rate: f64,
}

impl Tail {
    /// The tail of a run with at least two streams, of which not all ended at the same time.
    pub(crate) fn of(
        streams: &[Attributed],
        feeding: &Feeding,
        step_s: f64,
        load_s: f64,
    ) -> Option<Tail> {
        let mut ends: Vec<f64> = streams.iter().map(Attributed::ended_s).collect();
        ends.sort_by(f64::total_cmp);
        let from_s = *ends.get(ends.len().checked_sub(1)? / 2)?;
        let length_s = load_s - from_s;
        if streams.len() < 2 || length_s <= 0.0 {
            return None;
        }
        let last = streams
            .iter()
            .max_by(|one, other| one.ended_s().total_cmp(&other.ended_s()))?;
        let parts = last.within(feeding, from_s, load_s);
        let cause = CAUSES
            .into_iter()
            .max_by(|&one, &other| parts.of_cause(one).total_cmp(&parts.of_cause(other)))?;
        let mut rates: Vec<f64> = streams
            .iter()
            .filter(|stream| stream.series.stream != last.series.stream && stream.ended_s() > 0.0)
            .map(|stream| stream.text_rate(step_s, 0.0, stream.ended_s()))
            .collect();
        rates.sort_by(f64::total_cmp);
        Some(Tail {
            stream: last.series.stream,
            length_s,
            running: ends
                .iter()
                .filter(|&&end_s| end_s > from_s + length_s / 2.0)
                .count(),
            cause,
            share: parts.of_cause(cause) / length_s,
            rate: last.text_rate(step_s, from_s, load_s),
            others_rate: rates.get(rates.len() / 2).copied().unwrap_or(0.0),
        })
    }

    /// True if the tail is long because reading is slow, and not because there is much to read.
    pub(crate) fn is_slow(&self) -> bool {
        self.rate < SLOW * self.others_rate
    }
}
