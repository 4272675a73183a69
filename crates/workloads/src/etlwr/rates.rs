//! Loading rates of text.

use schemars::JsonSchema;
use serde::Serialize;

/// The loading rates of text. Units are powers of ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rates {
    /// Terabytes of text per hour.
    pub tb_per_hour: f64,
    /// Megabytes of text per second.
    pub mb_per_s: f64,
    /// Megabytes of text per second and core, with the cores of all machines involved.
    pub mb_per_s_per_core: Option<f64>,
}

impl Rates {
    /// The rates of this many bytes of text in this many seconds.
    pub fn new(bytes: f64, seconds: f64, cores: Option<u32>) -> Rates {
        let mb_per_s = bytes / 1e6 / seconds.max(1e-9);
        Rates {
            tb_per_hour: mb_per_s * 3600.0 / 1e6,
            mb_per_s,
            mb_per_s_per_core: cores.map(|cores| mb_per_s / f64::from(cores)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_record() {
        let rates = Rates::new(1.18e12, 1794.0, Some(96));
        assert!((rates.tb_per_hour - 2.368).abs() < 0.001, "{rates:?}");
        assert!((rates.mb_per_s - 657.7).abs() < 0.1);
        assert!((rates.mb_per_s_per_core.unwrap() - 6.85).abs() < 0.01);
        assert_eq!(Rates::new(1.0, 1.0, None).mb_per_s_per_core, None);
    }
}
