//! Statistics: fairness, the end of the warm-up, the median of several runs.

/// Jain's fairness index: 1 if all are equal, 1/n if one has everything.
pub fn fairness(numbers: &[f64]) -> f64 {
    let sum: f64 = numbers.iter().sum();
    let squares: f64 = numbers.iter().map(|number| number * number).sum();
    match squares > 0.0 {
        true => sum * sum / (numbers.len() as f64 * squares),
        false => 1.0,
    }
}

/// The median of sorted numbers. If their count is even, it is the mean of the two in the middle; if there are no
/// numbers, it is 0.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.len(), sorted.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// The least number of bins on each side of a change.
const SIDE_MIN: usize = 5;
/// A change counts if it is at least this many standard errors.
const ERRORS_MIN: f64 = 6.0;
/// A change counts only if it is also at least this share of the later rate.
const SHARE_MIN: f64 = 0.05;

/// The end of the warm-up: the bin in the first half at which the counts change most, the first one among equals.
/// `None` if they do not change, or only a little.
pub fn warm_up_end(counts: &[u32]) -> Option<usize> {
    // The last bin is cut off by the end of the run.
    let counts = &counts[..counts.len().saturating_sub(1)];
    let mut best: Option<(f64, usize)> = None;
    for at in SIDE_MIN..=counts.len() / 2 {
        let (before, after) = counts.split_at(at);
        if after.len() < SIDE_MIN {
            break;
        }
        let ((low, low_variance), (high, high_variance)) = (moments(before), moments(after));
        let error = (low_variance / before.len() as f64 + high_variance / after.len() as f64)
            .sqrt()
            // Counts vary at least by their square root, even on a quiet machine.
            .max((high / after.len() as f64).sqrt())
            .max(1e-9);
        let errors = (high - low).abs() / error;
        let is_large = (high - low).abs() >= SHARE_MIN * high;
        if is_large && errors >= ERRORS_MIN && best.is_none_or(|(most, _)| errors > most) {
            best = Some((errors, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Mean and variance.
fn moments(counts: &[u32]) -> (f64, f64) {
    let count = counts.len().max(1) as f64;
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / count;
    let variance = counts
        .iter()
        .map(|count| (f64::from(*count) - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0).max(1.0);
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_that_of_jain() {
        assert!((fairness(&[5.0, 5.0, 5.0]) - 1.0).abs() < 1e-12);
        assert!((fairness(&[9.0, 0.0, 0.0]) - 1.0 / 3.0).abs() < 1e-12);
        // Half of the clients have not run yet.
        assert!((fairness(&[1.0, 1.0, 0.0, 0.0]) - 0.5).abs() < 1e-12);
        assert_eq!(fairness(&[]), 1.0);
        assert_eq!(fairness(&[0.0]), 1.0);
    }

    #[test]
    fn the_middle_is_found() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[1.0, 2.0, 10.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 10.0]), 3.0);
    }

    /// Counts that vary by a twentieth in a pattern that repeats.
    fn steady(mean: u32, bins: usize) -> Vec<u32> {
        let spread = [0, 3, -2, 1, -4, 5, -1, 2, -5, 4];
        (0..bins)
            .map(|bin| (mean as i64 + i64::from(spread[bin % 10]) * i64::from(mean) / 100) as u32)
            .collect()
    }

    #[test]
    fn a_warm_up_is_cut_at_its_end() {
        let counts = [steady(400, 20), steady(1000, 80)].concat();
        assert_eq!(warm_up_end(&counts), Some(20));
        // A cache that fills up soon.
        let counts = [steady(1500, 12), steady(1000, 60)].concat();
        assert_eq!(warm_up_end(&counts), Some(12));
    }

    #[test]
    fn a_steady_run_has_none() {
        for bins in [0, 1, 5, 12, 100] {
            assert_eq!(warm_up_end(&steady(1000, bins)), None, "{bins} bins");
        }
        // A small change, and one in the second half.
        let counts = [steady(1000, 30), steady(1020, 30)].concat();
        assert_eq!(warm_up_end(&counts), None);
        let counts = [steady(1000, 80), steady(300, 10)].concat();
        assert_eq!(warm_up_end(&counts), None);
    }
}
