//! Numbers as people read them.

pub use inrush::quantity::{bytes, count, counted};

/// A measured or predicted time: `0.80 s`, `75.3 s`, `12 min 30 s`. The verdict writes times in seconds only
/// (`numbers.rs` of `verdict`).
pub fn seconds(number: f64) -> String {
    match number {
        // The difference of two clocks may be slightly negative, and would be written as -0.00.
        none if none.abs() < 0.005 => "0.00 s".to_owned(),
        // Without rounding first, 9.999 would be written as 10.00, and 599.99 as 600.0.
        short if short < 9.995 => format!("{short:.2} s"),
        short if short < 599.95 => format!("{short:.1} s"),
        long => {
            let whole = long.round() as u64;
            format!("{} min {} s", whole / 60, whole % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_for_people() {
        for (number, text) in [
            (0.0, "0.00 s"),
            (-0.0, "0.00 s"),
            (-1e-9, "0.00 s"),
            (0.0049, "0.00 s"),
            (0.123, "0.12 s"),
            (9.999, "10.0 s"),
            (75.31, "75.3 s"),
            (599.97, "10 min 0 s"),
            (659.4, "10 min 59 s"),
            (659.7, "11 min 0 s"),
            (750.0, "12 min 30 s"),
        ] {
            assert_eq!(seconds(number), text);
        }
    }
}
