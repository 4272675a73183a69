//! The activity of the feeds while streams waited for them.

use crate::measurements::Measurements;
use crate::parts::{ByPart, Part};
use crate::timeline::{seconds_at, spread};

const PARTS: [Part; 3] = [Part::FeedRead, Part::FeedDecompress, Part::FeedScan];

/// The work of all feeds together, step by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Feeding {
    steps: Vec<[f64; 3]>,
    total: [f64; 3],
}

impl Feeding {
    /// The figures of all feeds of a run.
    pub(crate) fn of(measurements: &Measurements) -> Feeding {
        let step_s = f64::from(measurements.step_ms) / 1e3;
        let mut feeding = Feeding::default();
        for feed in &measurements.feeds {
            let series = [&feed.read_us, &feed.decompress_us, &feed.scan_us];
            let count = series.iter().map(|series| series.len()).max().unwrap_or(0);
            let mut steps: Vec<[f64; 3]> = (0..count)
                .map(|step| series.map(|series| seconds_at(series, step)))
                .collect();
            spread(&mut steps, &vec![step_s; count]);
            if feeding.steps.len() < count {
                feeding.steps.resize(count, [0.0; 3]);
            }
            for (sum, own) in feeding.steps.iter_mut().zip(steps) {
                for (sum, seconds) in sum.iter_mut().zip(own) {
                    *sum += seconds;
                }
            }
        }
        for step in &feeding.steps {
            for (total, seconds) in feeding.total.iter_mut().zip(step) {
                *total += seconds;
            }
        }
        feeding
    }

    /// The work of the feeds during a wait in that step, in shares that add up to 1. If nothing was measured in the
    /// step, the shares of the whole run.
    pub(crate) fn at(&self, step: usize) -> ByPart {
        let mut shares = ByPart::default();
        let own = self.steps.get(step).copied().unwrap_or_default();
        let work = if own.iter().sum::<f64>() > 0.0 {
            own
        } else {
            self.total
        };
        for (part, seconds) in PARTS.into_iter().zip(work) {
            shares.add(part, seconds);
        }
        if shares.total() <= 0.0 {
            shares.add(Part::Unmeasured, 1.0);
        }
        shares.scaled_to(1.0)
    }
}
