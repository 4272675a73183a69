//! Counts and bytes as people read and write them: one notation for plans, accounts, verdicts and messages.

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

/// `1 row`, `2 rows`, `1,234 rows`.
pub fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
}

/// `999 B`, `1.2 GB`: units are powers of ten, up to terabytes, with one digit after the point.
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

/// The number of bytes in a text such as `20MB`, `1.5 GiB` or `500000`; `None` for any other text.
pub fn parse_bytes(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 9] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    let text = text.trim();
    let units = UNITS.into_iter();
    let (number, factor) = units
        .filter_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .next()?;
    let number: f64 = number.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_written_for_people() {
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
            (1536, "1.5 kB"),
            (999_999, "1.0 MB"),
            (1_180_000_000_000, "1.2 TB"),
            (3 << 40, "3.3 TB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(
            (counted(1, "row"), counted(2_400_000, "row")),
            ("1 row".to_owned(), "2,400,000 rows".to_owned())
        );
    }
}
