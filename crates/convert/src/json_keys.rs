//! Finds repeated keys in an object of a JSON document. JSON allows them, but does not define which value counts.

use std::borrow::Cow;

use memchr::memchr2;

/// The most keys of one object that are compared in pairs; more keys are sorted.
const COMPARED_MAX: usize = 16;

/// The keys of the values that are still open.
#[derive(Default)]
struct OpenValues<'a> {
    /// The keys of all open objects, the innermost object's last.
    keys: Vec<Cow<'a, str>>,
    /// For each open value, the index of its first key in `keys`; `None` for an array.
    starts: Vec<Option<usize>>,
}

/// A key that is repeated within one object, without its escapes. The text is well-formed JSON of any depth.
pub(super) fn repeated_key(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut open = OpenValues::default();
    // True if a string here would be a key.
    let mut key_is_next = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => {
                open.starts.push(Some(open.keys.len()));
                key_is_next = true;
            }
            b'[' => {
                open.starts.push(None);
                key_is_next = false;
            }
            b',' => key_is_next = matches!(open.starts.last(), Some(Some(_))),
            b'}' | b']' => {
                if let Some(key) = open.close() {
                    return Some(key);
                }
                key_is_next = false;
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                if key_is_next {
                    open.keys.push(unescaped(text, at, end));
                    key_is_next = false;
                }
                at = end + 1;
            }
            _ => {}
        }
    }
    None
}

impl OpenValues<'_> {
    /// Closes the innermost value. Returns a repeated key, if it is an object with one.
    fn close(&mut self) -> Option<String> {
        let start = self.starts.pop().flatten()?;
        let keys = &mut self.keys[start..];
        let repeated = if keys.len() <= COMPARED_MAX {
            let repeated = |(place, key): &(usize, &Cow<'_, str>)| keys[..*place].contains(key);
            keys.iter().enumerate().find(repeated).map(|(_, key)| key)
        } else {
            keys.sort_unstable();
            let twice = |pair: &&[Cow<'_, str>]| pair[0] == pair[1];
            keys.windows(2).find(twice).map(|pair| &pair[0])
        };
        let repeated = repeated.map(|key| key.clone().into_owned());
        self.keys.truncate(start);
        repeated
    }
}

/// The position of the quote that ends the string which begins here.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) else {
            return bytes.len();
        };
        at += found;
        if bytes[at] == b'"' {
            return at;
        }
        at += 2;
    }
}

/// The key between two positions. A key with half of a surrogate pair stays as it is written: it is not text, and the
/// destination refuses it.
fn unescaped(text: &str, start: usize, end: usize) -> Cow<'_, str> {
    let written = &text[start..end];
    if !written.contains('\\') {
        return Cow::Borrowed(written);
    }
    match serde_json::from_str(&text[start - 1..=end]) {
        Ok(key) => Cow::Owned(key),
        Err(_) => Cow::Borrowed(written),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_keys_are_found() {
        for (text, expected) in [
            (r#"{"a":1,"a":2}"#, Some("a")),
            (r#"{"a":1,"\u0061":2}"#, Some("a")),
            (r#"{"":1,"":2}"#, Some("")),
            (r#"{"\"":1,"b":"\"","\u0022":2}"#, Some("\"")),
            (r#"[1, {"x": [{"b": {}, "c": 1, "b": []}]}]"#, Some("b")),
            (
                r#"{"a": {"b": 1}, "b": {"a": [1, "a", "a"]}, "a": 2}"#,
                Some("a"),
            ),
            (r#"{"😀":1,"\ud83d\ude00":2}"#, Some("😀")),
            (r#"{"a": "b", "b": "a"}"#, None),
            (r#"{"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]}"#, None),
            (r#"["a", "a", ["a"], "a"]"#, None),
            (r#"{"a": "\"a\":1,\\", "b": ",{\"a\""}"#, None),
            (r#"{"a":1,"A":2,"a ":3}"#, None),
            (r#""a""#, None),
            (" 1 ", None),
            ("{}", None),
        ] {
            assert_eq!(repeated_key(text).as_deref(), expected, "{text}");
        }
    }

    /// An object with these keys; those at odd indexes are written with escapes.
    fn object(keys: &[String]) -> String {
        let members = keys.iter().enumerate().map(|(place, key)| {
            let escaped: String = key
                .chars()
                .map(|c| format!("\\u{:04x}", u32::from(c)))
                .collect();
            format!(
                "\"{}\": [{{}}]",
                if place % 2 == 0 { key } else { &escaped }
            )
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    proptest! {
        #[test]
        fn as_a_set_says(keys in prop::collection::vec("[a-d]{0,3}", 0..40)) {
            let mut seen = HashSet::new();
            let has_repeated = !keys.iter().all(|key| seen.insert(key));
            let found = repeated_key(&object(&keys));
            prop_assert_eq!(found.is_some(), has_repeated);
            if let Some(key) = found {
                prop_assert!(keys.iter().filter(|other| **other == key).count() > 1);
            }
        }
    }
}
