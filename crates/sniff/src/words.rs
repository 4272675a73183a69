//! Numbers and values in sentences.

pub(super) use inrush_rows::plural::counted;

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
