//! Numbers as people read them.

/// `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `2 rows`.
pub fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
}

/// `1.2 GB`, in powers of ten.
pub fn bytes(number: u64) -> String {
    let mut value = number as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB"].into_iter();
    let mut unit = units.next().unwrap_or("B");
    for next in units {
        // 999.95 would be written as 1000.0.
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    match unit {
        "B" => format!("{number} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

/// `0.8 s`, `75.3 s`, `12 min 30 s`.
pub fn seconds(number: f64) -> String {
    match number {
        // A difference of two clocks may be a little below zero, which would be written as -0.00.
        none if none.abs() < 0.005 => "0.00 s".to_owned(),
        // 9.999 would be written as 10.00, and 599.99 as 600.0.
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
    fn numbers_are_written_for_people() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (12345678, "12,345,678"),
        ] {
            assert_eq!(count(number), text);
        }
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_999, "1.0 MB"),
            (1_180_000_000_000, "1.2 TB"),
        ] {
            assert_eq!(bytes(number), text);
        }
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
        assert_eq!(
            (counted(1, "row"), counted(2, "row")),
            ("1 row".to_owned(), "2 rows".to_owned())
        );
    }
}
