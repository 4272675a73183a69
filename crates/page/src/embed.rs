//! JSON that can stand within a script element of HTML.

use serde_json::Value;

/// Writes a value so that nothing in it can end the element that it stands in, or begin another one.
///
/// Of all that is outside strings in JSON no character means anything to HTML; within strings each may be written by its
/// number. `</script` and `<!--` are thus impossible, and so are the line ends that JavaScript once took for its own.
pub fn embed(value: &Value) -> String {
    let text = value.to_string();
    let mut made = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => made.push_str("\\u003c"),
            '>' => made.push_str("\\u003e"),
            '&' => made.push_str("\\u0026"),
            '\u{2028}' => made.push_str("\\u2028"),
            '\u{2029}' => made.push_str("\\u2029"),
            character => made.push(character),
        }
    }
    made
}
