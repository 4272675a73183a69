//! The text that the server returns for `jsonb`. Keys are sorted by length and then by bytes. Of equal keys the last
//! one is kept. Numbers are written in full, and strings with the fewest escapes.

/// A value that is not closed yet.
enum Open {
    Array(Vec<Vec<u8>>),
    Object {
        members: Vec<(Vec<u8>, Vec<u8>)>,
        /// The key whose value comes next.
        key: Option<Vec<u8>>,
    },
}

/// Appends the server's text of a document. Nothing is appended if the text is not JSON, which the server refuses.
pub(super) fn append_canonical(text: &str, out: &mut Vec<u8>) {
    if let Some(canonical) = canonical(text.as_bytes()) {
        out.extend_from_slice(&canonical);
    }
}

/// This is not recursive, because documents may be nested as deep as the server's stack allows, and that stack is
/// larger than ours.
fn canonical(text: &[u8]) -> Option<Vec<u8>> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blanks(text, at);
        let mut value = match *text.get(at)? {
            b'[' => {
                at = skip_blanks(text, at + 1);
                if *text.get(at)? != b']' {
                    open.push(Open::Array(Vec::new()));
                    continue;
                }
                at += 1;
                b"[]".to_vec()
            }
            b'{' => {
                at = skip_blanks(text, at + 1);
                if *text.get(at)? != b'}' {
                    let (key, behind) = key(text, at)?;
                    at = behind;
                    open.push(Open::Object {
                        members: Vec::new(),
                        key: Some(key),
                    });
                    continue;
                }
                at += 1;
                b"{}".to_vec()
            }
            b'"' => {
                let (string, behind) = string(text, at)?;
                at = behind;
                let mut value = Vec::with_capacity(string.len() + 2);
                append_string(&string, &mut value);
                value
            }
            _ => {
                let is_plain =
                    |byte: &u8| !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                let length = text[at..].iter().take_while(|byte| is_plain(byte)).count();
                let word = &text[at..at + length];
                at += length;
                match word {
                    b"true" | b"false" | b"null" => word.to_vec(),
                    number => plain_number(number)?,
                }
            }
        };
        // The value is complete: it belongs to the open array or object, which may be complete with it.
        loop {
            at = skip_blanks(text, at);
            let next = text.get(at).copied();
            match open.last_mut() {
                None => return next.is_none().then_some(value),
                Some(Open::Array(items)) => {
                    items.push(value);
                    at += 1;
                    match next? {
                        b',' => break,
                        b']' => {}
                        _ => return None,
                    }
                }
                Some(Open::Object { members, key: name }) => {
                    members.push((name.take()?, value));
                    at += 1;
                    match next? {
                        b',' => {
                            let (next_key, behind) = key(text, skip_blanks(text, at))?;
                            *name = Some(next_key);
                            at = behind;
                            break;
                        }
                        b'}' => {}
                        _ => return None,
                    }
                }
            }
            value = closed(open.pop()?);
        }
    }
}

fn closed(open: Open) -> Vec<u8> {
    let mut out = Vec::new();
    match open {
        Open::Array(items) => {
            out.push(b'[');
            out.extend_from_slice(&items.join(&b", "[..]));
            out.push(b']');
        }
        Open::Object { mut members, .. } => {
            // Of equal keys the last one counts. A stable sort keeps it last.
            members.sort_by(|(one, _), (other, _)| {
                one.len().cmp(&other.len()).then_with(|| one.cmp(other))
            });
            out.push(b'{');
            for (index, (key, value)) in members.iter().enumerate() {
                if members.get(index + 1).is_some_and(|(next, _)| next == key) {
                    continue;
                }
                if out.len() > 1 {
                    out.extend_from_slice(b", ");
                }
                append_string(key, &mut out);
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
            }
            out.push(b'}');
        }
    }
    out
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + text[at.min(text.len())..]
        .iter()
        .take_while(is_blank)
        .count()
}

/// A key, and the position of its value.
fn key(text: &[u8], at: usize) -> Option<(Vec<u8>, usize)> {
    let (key, behind) = string(text, at)?;
    let colon = skip_blanks(text, behind);
    (text.get(colon) == Some(&b':')).then_some((key, colon + 1))
}

/// A string without its escapes, and the position after its closing quote.
fn string(text: &[u8], at: usize) -> Option<(Vec<u8>, usize)> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut out = Vec::new();
    let mut at = at + 1;
    loop {
        let plain = memchr::memchr2(b'"', b'\\', &text[at..])?;
        out.extend_from_slice(&text[at..at + plain]);
        at += plain;
        if text[at] == b'"' {
            return Some((out, at + 1));
        }
        let escaped = *text.get(at + 1)?;
        at += 2;
        out.push(match escaped {
            b'"' | b'\\' | b'/' => escaped,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut unit = hex(text, at)?;
                at += 4;
                if (0xD800..0xDC00).contains(&unit) {
                    let low = (text.get(at..at + 2)? == b"\\u").then(|| hex(text, at + 2))??;
                    at += 6;
                    unit = 0x10000 + ((unit - 0xD800) << 10) + low.checked_sub(0xDC00)?;
                }
                let letter = char::from_u32(unit)?;
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            _ => return None,
        });
    }
}

fn hex(text: &[u8], at: usize) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(at..at + 4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Appends a string as PostgreSQL's `escape_json` writes it.
fn append_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte if *byte < b' ' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
}

/// A number as `numeric` writes it: without an exponent, and with the remaining digits after the point.
fn plain_number(text: &[u8]) -> Option<Vec<u8>> {
    /// More digits than any `numeric` has; the server refuses them.
    const DIGITS_MAX: i64 = 200_000;
    let text = std::str::from_utf8(text).ok()?;
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || exponent.abs() > DIGITS_MAX {
        return None;
    }
    // The position of the point in the digits; if it is outside, zeros are added.
    let point = whole.len() as i64 + exponent;
    let scale = (fraction.len() as i64 - exponent).max(0) as usize;
    let before = |count: i64| "0".repeat(count.max(0) as usize);
    let padded = format!(
        "{}{digits}{}",
        before(-point),
        before(point - digits.len() as i64)
    );
    let point = point.max(0) as usize;
    let (whole, fraction) = padded.split_at(point.min(padded.len()));
    let whole = whole.trim_start_matches('0');
    let fraction = &fraction[..scale.min(fraction.len())];
    let is_zero = whole.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    let mut out = Vec::new();
    if negative && !is_zero {
        out.push(b'-');
    }
    out.extend_from_slice(if whole.is_empty() {
        b"0"
    } else {
        whole.as_bytes()
    });
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! becomes {
        ($($name:ident: $text:expr => $canonical:expr;)*) => {$(
            #[test]
            fn $name() {
                let canonical = canonical($text.as_bytes());
                let canonical = canonical.map(|text| String::from_utf8(text).expect("UTF-8"));
                assert_eq!(canonical.as_deref(), $canonical);
            }
        )*};
    }

    // The answers of PostgreSQL 18 to `SELECT $text::jsonb::text`.
    becomes! {
        scalars: " true " => Some("true");
        empty_ones: "[ { } , [ ] ]" => Some("[{}, []]");
        keys_by_length_then_bytes: r#"{"b":1.10,"a":-0.0, "aa":2}"# => Some(r#"{"a": 0.0, "b": 1.10, "aa": 2}"#);
        the_last_of_equal_keys: r#"{"a": 1, "b": 2, "a": {"x": [3]}}"# => Some(r#"{"a": {"x": [3]}, "b": 2}"#);
        numbers_without_exponents: "[1e3, 1.50e1, 15e-1, 0.05e3, 1E-5, -0, 12.0]"
            => Some("[1000, 15.0, 1.5, 50, 0.00001, 0, 12.0]");
        escapes: r#""\u00e9\n\/\u0001\ud83d\ude00\"\\\u007f""# => Some("\"é\\n/\\u0001😀\\\"\\\\\u{7f}\"");
        nested: "[[[[1],2],{\"a\":[3,{\"b\":4}]}]]" => Some("[[[[1], 2], {\"a\": [3, {\"b\": 4}]}]]");
        no_document: "{\"a\" 1}" => None;
        two_documents: "1 2" => None;
        not_closed: "[1, {" => None;
        a_lone_surrogate: r#""\ud800""# => None;
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let text = format!("{}1{}", "[".repeat(6_000), "]".repeat(6_000));
        assert_eq!(canonical(text.as_bytes()), Some(text.into_bytes()));
    }
}
