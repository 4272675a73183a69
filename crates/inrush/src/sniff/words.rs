//! Numbers and values in sentences.

/// `1 row`, `2 rows`.
pub(super) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// A value as a message quotes it.
pub(super) fn shortened(value: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 40;
    let text = String::from_utf8_lossy(value);
    let mut shown: String = text.chars().take(CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('\u{2026}');
    }
    shown
}
