//! Numbers as people read them.

/// `71 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// `12.3 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds >= 99.95 {
        format!("{seconds:.0} s")
    } else if seconds >= 0.95 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.2} s")
    }
}

/// `1.2 GB`, in powers of ten.
pub(crate) fn bytes(bytes: f64) -> String {
    let mut value = bytes;
    let mut units = ["B", "kB", "MB", "GB"].into_iter();
    let mut unit = units.next().expect("there are units");
    for next in units {
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        unit = next;
    }
    if value >= 9.95 || unit == "B" {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// `1.2 GB/s`.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", bytes(bytes_per_second))
}

/// `20 ms`, of microseconds.
pub(crate) fn milliseconds(us: f64) -> String {
    let ms = us / 1e3;
    if ms >= 9.95 {
        format!("{ms:.0} ms")
    } else if ms >= 0.095 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.2} ms")
    }
}

/// `2,400,000`.
pub(crate) fn whole(number: u64) -> String {
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

/// `1 stream`, `2 streams`.
pub(crate) fn count(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        whole(count),
        if count == 1 { "" } else { "s" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_well() {
        assert_eq!(percent(0.714), "71 %");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(seconds(0.041), "0.04 s");
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(1794.0), "1794 s");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999.7), "1.0 kB");
        assert_eq!(bytes(1.18e12), "1180 GB");
        assert_eq!(rate(4_100_000.0), "4.1 MB/s");
        assert_eq!(milliseconds(20_140.0), "20 ms");
        assert_eq!(milliseconds(42.0), "0.04 ms");
        assert_eq!(count(1, "stream"), "1 stream");
        assert_eq!(count(2_400_000, "segment"), "2,400,000 segments");
        assert_eq!(whole(999), "999");
    }
}
