//! Loads that are too short for a verdict.

/// Seconds of loading below which a run has no verdict: it was sampled only a few times, and its time does not matter.
const LOAD_S_MIN: f64 = 1.0;

/// True if a run that spent `load_s` seconds on loading is too short for a verdict.
pub fn is_too_short(load_s: f64) -> bool {
    load_s < LOAD_S_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_one_second_has_a_verdict() {
        assert!(is_too_short(0.0));
        assert!(is_too_short(0.999));
        assert!(!is_too_short(1.0));
    }
}
