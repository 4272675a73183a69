//! Shares, times and rates as people read them; counts and bytes are written by [`quantity`].

use inrush_rows::quantity;

/// `71 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// `12.3 s`, `1794 s`. People divide and compare these times, so they are never in minutes. They are not more precise
/// than the samples. The command writes measured times, with minutes (`numbers.rs` of `cli`).
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds >= 99.95 {
        format!("{seconds:.0} s")
    } else if seconds >= 0.95 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.2} s")
    }
}

/// An estimated number of bytes, such as `1.2 GB`, without fractions of a byte.
pub(crate) fn bytes(bytes: f64) -> String {
    quantity::bytes(bytes.round() as u64)
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
        assert_eq!(bytes(1.18e12), "1.2 TB");
        assert_eq!(rate(4_100_000.0), "4.1 MB/s");
        assert_eq!(milliseconds(20_140.0), "20 ms");
        assert_eq!(milliseconds(42.0), "0.04 ms");
    }
}
