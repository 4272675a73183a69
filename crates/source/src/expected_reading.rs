//! A preflight tells a source how a run is expected to read it, and asks for its hazards.

/// How a run is expected to read a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedReading {
    /// The number of streams that read at once.
    pub streams: usize,
    /// The predicted time of the run, in seconds; `None` if nothing is predicted.
    pub seconds: Option<f64>,
}

impl ExpectedReading {
    /// True if reading may take longer than this number of seconds.
    pub fn may_exceed(&self, limit_s: f64) -> bool {
        self.seconds.is_none_or(|seconds| seconds > limit_s)
    }

    /// The time in words, as the end of a sentence about a limit.
    pub fn words(&self) -> String {
        match self.seconds {
            Some(seconds) => format!("the run is predicted to take {seconds:.1} s"),
            None => "how long the run takes is not predicted".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_time_may_exceed_every_limit() {
        let unknown = ExpectedReading::default();
        assert!(unknown.may_exceed(1e9) && unknown.words().contains("not predicted"));
        let known = ExpectedReading {
            seconds: Some(30.04),
            ..unknown
        };
        assert!(known.may_exceed(30.0) && !known.may_exceed(31.0));
        assert_eq!(known.words(), "the run is predicted to take 30.0 s");
    }
}
