//! The text of an array, as PostgreSQL's `array_in` reads it: `{1,NULL,"a b"}`, nested braces for more dimensions, and
//! `[0:1]={a,b}` for bounds that do not begin at 1.

use super::error::ValueError;

/// The most dimensions.
const DIMENSIONS_MAX: usize = 6;

/// Receives an element with its subscripts; `None` is NULL.
pub(super) type TakeElement<'a> = dyn FnMut(&[i64], Option<&str>) -> Result<(), ValueError> + 'a;

/// Reads an array, and passes its elements in order, each with its subscripts; `None` for NULL.
pub(super) fn each_element(text: &str, element: &mut TakeElement<'_>) -> Result<(), ValueError> {
    let mut reader = Reader {
        text,
        at: 0,
        scratch: String::new(),
    };
    let bounds = reader.bounds()?;
    reader.skip_blanks();
    if reader.peek() != Some(b'{') {
        return Err(fault(if bounds.is_empty() {
            "an array must begin with `{`"
        } else {
            "`={` must follow the bounds"
        }));
    }
    reader.contents(&bounds, element)?;
    reader.skip_blanks();
    if reader.peek().is_some() {
        return Err(fault("text follows the last `}`"));
    }
    Ok(())
}

fn fault(what: &str) -> ValueError {
    ValueError::syntax(format!(
        "not an array; {what}. Write {{1,2,NULL}}, with \"...\" around elements that contain \
         commas, braces, quotes, backslashes or blanks at their ends"
    ))
}

/// The bounds of a dimension.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    lower: i64,
    count: i64,
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that were read.
    at: usize,
    /// An element without its backslashes.
    scratch: String,
}

/// The next token in the braces.
enum Token {
    Open,
    Close,
    Comma,
    Null,
    /// An element: the range of its text, or `None` if the text is in the scratch buffer.
    Element(Option<(usize, usize)>),
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// `[lower:upper]` or `[upper]`, several times, and the `=` after them.
    fn bounds(&mut self) -> Result<Vec<Bounds>, ValueError> {
        let mut bounds = Vec::new();
        loop {
            self.skip_blanks();
            if !self.eat(b'[') {
                break;
            }
            if bounds.len() == DIMENSIONS_MAX {
                return Err(too_deep());
            }
            let first = self.integer()?;
            let (lower, upper) = match self.eat(b':') {
                true => (first, self.integer()?),
                false => (1, first),
            };
            if !self.eat(b']') {
                return Err(fault("bounds must be written as in [1:3]"));
            }
            if upper < lower || upper == i64::from(i32::MAX) {
                return Err(fault(
                    "an upper bound is below its lower bound, or too large",
                ));
            }
            bounds.push(Bounds {
                lower,
                count: upper - lower + 1,
            });
        }
        if !bounds.is_empty() && !self.eat(b'=') {
            return Err(fault("`={` must follow the bounds"));
        }
        Ok(bounds)
    }

    /// A bound, which has 32 bits.
    fn integer(&mut self) -> Result<i64, ValueError> {
        let start = self.at;
        if matches!(self.peek(), Some(b'+' | b'-')) {
            self.at += 1;
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let number: Result<i32, _> = self.text[start..self.at].parse();
        number
            .map(i64::from)
            .map_err(|_| fault("bounds must be whole numbers of 32 bits"))
    }

    /// Reads the contents of the braces.
    fn contents(
        &mut self,
        bounds: &[Bounds],
        element: &mut TakeElement<'_>,
    ) -> Result<(), ValueError> {
        // For each level: the required number of elements, once it is known, and the number so far.
        let mut expected: Vec<Option<i64>> = bounds.iter().map(|one| Some(one.count)).collect();
        let mut counts: Vec<i64> = Vec::new();
        let mut is_depth_known = !bounds.is_empty();
        let mut expects_comma = false;
        let mut subscripts: Vec<i64> = Vec::new();
        let uneven = || fault("sub-arrays have different numbers of elements or dimensions");
        loop {
            match self.token()? {
                Token::Open => {
                    if expects_comma {
                        return Err(fault("there is a `{` instead of a comma"));
                    }
                    if counts.len() == DIMENSIONS_MAX {
                        return Err(too_deep());
                    }
                    counts.push(0);
                    if counts.len() > expected.len() {
                        if is_depth_known {
                            return Err(uneven());
                        }
                        expected.push(None);
                    }
                }
                Token::Close => {
                    let count = counts.pop().unwrap_or_default();
                    if count > 0 && !expects_comma {
                        return Err(fault("a `}` follows a comma"));
                    }
                    if let Some(outer) = counts.last_mut() {
                        *outer += 1;
                    }
                    match &mut expected[counts.len()] {
                        Some(expected) if *expected != count => return Err(uneven()),
                        expected => *expected = Some(count),
                    }
                    expects_comma = true;
                    if counts.is_empty() {
                        return Ok(());
                    }
                }
                Token::Comma => {
                    if !expects_comma {
                        return Err(fault(
                            "an element is missing beside a comma: write NULL or \"\"",
                        ));
                    }
                    expects_comma = false;
                }
                token => {
                    if expects_comma {
                        return Err(fault("there is an element instead of a comma"));
                    }
                    is_depth_known = true;
                    if counts.len() != expected.len() {
                        return Err(uneven());
                    }
                    subscripts.clear();
                    subscripts.extend(counts.iter().enumerate().map(|(level, count)| {
                        bounds.get(level).map_or(1, |bounds| bounds.lower) + count
                    }));
                    let value = match token {
                        Token::Element(Some((start, end))) => Some(&self.text[start..end]),
                        Token::Element(None) => Some(self.scratch.as_str()),
                        _ => None,
                    };
                    element(&subscripts, value)?;
                    if let Some(count) = counts.last_mut() {
                        *count += 1;
                    }
                    expects_comma = true;
                }
            }
        }
    }

    fn token(&mut self) -> Result<Token, ValueError> {
        self.skip_blanks();
        let token = match self.peek() {
            None => return Err(unclosed()),
            Some(b'{') => Token::Open,
            Some(b'}') => Token::Close,
            Some(b',') => Token::Comma,
            Some(b'"') => return self.quoted(),
            Some(_) => return self.unquoted(),
        };
        self.at += 1;
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Token, ValueError> {
        self.at += 1;
        let start = self.at;
        let mut has_escapes = false;
        loop {
            match self.peek().ok_or_else(unclosed)? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    self.escape()?;
                }
                _ => self.at += 1,
            }
        }
        let end = self.at;
        self.at += 1;
        self.skip_blanks();
        if !matches!(self.peek(), Some(b',' | b'{' | b'}')) {
            return Err(fault("text follows a closing quote"));
        }
        Ok(self.element(start, end, has_escapes))
    }

    fn unquoted(&mut self) -> Result<Token, ValueError> {
        let start = self.at;
        // The position after the last byte that is not a blank, or is an escaped blank.
        let mut end = start;
        let mut has_escapes = false;
        loop {
            match self.peek().ok_or_else(unclosed)? {
                b',' | b'{' | b'}' => break,
                b'"' => {
                    return Err(fault(
                        "a quote is inside an element that does not begin with a quote",
                    ));
                }
                b'\\' => {
                    has_escapes = true;
                    self.escape()?;
                    end = self.at;
                }
                byte => {
                    self.at += 1;
                    if !is_blank(byte) {
                        end = self.at;
                    }
                }
            }
        }
        if !has_escapes && self.text[start..end].eq_ignore_ascii_case("null") {
            return Ok(Token::Null);
        }
        Ok(self.element(start, end, has_escapes))
    }

    /// Skips a backslash and the character after it.
    fn escape(&mut self) -> Result<(), ValueError> {
        self.at += 1;
        let character = self.text[self.at..].chars().next().ok_or_else(unclosed)?;
        self.at += character.len_utf8();
        Ok(())
    }

    fn element(&mut self, start: usize, end: usize, has_escapes: bool) -> Token {
        if !has_escapes {
            return Token::Element(Some((start, end)));
        }
        self.scratch.clear();
        let mut characters = self.text[start..end].chars();
        while let Some(character) = characters.next() {
            let kept = match character {
                '\\' => characters.next(),
                character => Some(character),
            };
            self.scratch.extend(kept);
        }
        Token::Element(None)
    }
}

/// True for the blanks of `array_in`, which are the same in every locale.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn unclosed() -> ValueError {
    fault("a brace or a quote is not closed")
}

fn too_deep() -> ValueError {
    fault("an array can have at most six dimensions")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Elements = Vec<(Vec<i64>, Option<String>)>;

    fn elements(text: &str) -> Option<Elements> {
        let mut found = Vec::new();
        each_element(text, &mut |subscripts, element| {
            found.push((subscripts.to_vec(), element.map(str::to_owned)));
            Ok(())
        })
        .ok()
        .map(|()| found)
    }

    /// The elements alone, NULL in angle brackets.
    fn values(text: &str) -> Option<Vec<String>> {
        let found = elements(text)?;
        let value = |(_, value): (Vec<i64>, Option<String>)| value.unwrap_or("<NULL>".to_owned());
        Some(found.into_iter().map(value).collect())
    }

    macro_rules! arrays {
        ($($name:ident: $text:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let expected: Option<&[&str]> = $expected;
                let expected = expected.map(|values| values.iter().map(|v| v.to_string()).collect::<Vec<_>>());
                assert_eq!(values($text), expected);
            }
        )*};
    }

    arrays! {
        empty: "{}" => Some(&[]);
        empty_with_blanks: " { } " => Some(&[]);
        one: "{a}" => Some(&["a"]);
        blanks_around: "{ a , b c\t}\n" => Some(&["a", "b c"]);
        nulls: "{NULL,null,NuLl}" => Some(&["<NULL>", "<NULL>", "<NULL>"]);
        no_nulls: "{\"NULL\",N\\ULL,NULLS}" => Some(&["NULL", "NULL", "NULLS"]);
        quotes: "{\"a,b\",\"\",\"{}\"}" => Some(&["a,b", "", "{}"]);
        escapes: "{\"a\\\"b\",\"\\\\\",\\ä\\,c}" => Some(&["a\"b", "\\", "ä,c"]);
        blanks_that_stay: "{\" a \",\\ b\\ }" => Some(&[" a ", " b "]);
        nested: "{{1,2},{3,4}}" => Some(&["1", "2", "3", "4"]);
        nested_blanks: "{ {1} , {2} }" => Some(&["1", "2"]);
        nested_empty: "{{},{}}" => Some(&[]);
        bounds: "[0:1]={a,b}" => Some(&["a", "b"]);
        bounds_alone: "[2]={a,b}" => Some(&["a", "b"]);
        bounds_with_blanks: " [1:1] [-2:-1] = {{a,b}}" => Some(&["a", "b"]);
        six_levels: "{{{{{{1}}}}}}" => Some(&["1"]);
        nothing: "" => None;
        no_braces: "a" => None;
        no_end: "{a" => None;
        no_end_of_quote: "{\"a}" => None;
        no_end_of_escape: "{a\\" => None;
        two: "{a}{b}" => None;
        behind: "{a}b" => None;
        comma_first: "{,a}" => None;
        comma_last: "{a,}" => None;
        commas: "{a,,b}" => None;
        comma_alone: "{,}" => None;
        quote_inside: "{a\"b\"}" => None;
        quote_before: "{\"a\"b}" => None;
        elements_without_comma: "{\"a\" {b}}" => None;
        braces_without_comma: "{{a}{b}}" => None;
        uneven: "{{1,2},{3}}" => None;
        uneven_depth: "{{1},2}" => None;
        uneven_depth_later: "{1,{2}}" => None;
        uneven_empty: "{{},{1}}" => None;
        seven_levels: "{{{{{{{1}}}}}}}" => None;
        wrong_bounds: "[0:1]={a}" => None;
        bounds_too_many: "[0:0][0:0]={a}" => None;
        bounds_too_few: "[1:1]={{a}}" => None;
        bounds_down: "[1:0]={}" => None;
        bounds_without_equals: "[1:1]{a}" => None;
        bounds_of_nothing: "[]={a}" => None;
        bounds_too_large: "[2147483647:2147483647]={a}" => None;
        bounds_of_blanks: "[ 1:1]={a}" => None;
    }

    #[test]
    fn subscripts_are_the_servers() {
        let of = |text: &str| -> Vec<Vec<i64>> {
            let found = elements(text).expect("an array");
            found
                .into_iter()
                .map(|(subscripts, _)| subscripts)
                .collect()
        };
        assert_eq!(of("{a,b}"), [[1], [2]]);
        assert_eq!(of("{{a,b},{c,d}}"), [[1, 1], [1, 2], [2, 1], [2, 2]]);
        assert_eq!(of("[0:1][5:5]={{a},{b}}"), [[0, 5], [1, 5]]);
    }

    /// Writes an array in the safest form: every element in quotes, every character escaped.
    fn written(rows: &[Vec<Option<String>>]) -> String {
        let element = |element: &Option<String>| match element {
            None => "NULL".to_owned(),
            Some(text) => {
                let escaped: String = text.chars().flat_map(|c| ['\\', c]).collect();
                format!("\"{escaped}\"")
            }
        };
        let row = |row: &Vec<Option<String>>| {
            let texts: Vec<String> = row.iter().map(element).collect();
            format!("{{{}}}", texts.join(","))
        };
        let rows: Vec<String> = rows.iter().map(row).collect();
        format!("{{{}}}", rows.join(","))
    }

    /// A slow reader: cuts a level at its commas with a stack, then reads each part again.
    fn slow(text: &str, depth: usize) -> Option<(Vec<usize>, Vec<Option<String>>)> {
        let text = text.trim_matches(|c: char| c.is_ascii() && is_blank(c as u8));
        let inside = text.strip_prefix('{')?.strip_suffix('}')?;
        if depth > DIMENSIONS_MAX {
            return None;
        }
        let mut parts: Vec<String> = vec![String::new()];
        let (mut level, mut is_quoted, mut is_escaped) = (0i32, false, false);
        for c in inside.chars() {
            let plain = !is_escaped && !is_quoted;
            match c {
                ',' if plain && level == 0 => {
                    parts.push(String::new());
                    continue;
                }
                '{' if plain => level += 1,
                '}' if plain => level -= 1,
                '"' if !is_escaped => is_quoted = !is_quoted,
                _ => {}
            }
            if level < 0 {
                return None;
            }
            is_escaped = c == '\\' && !is_escaped;
            parts.last_mut()?.push(c);
        }
        if level != 0 || is_quoted || is_escaped {
            return None;
        }
        let is_blank_part = |part: &str| part.bytes().all(is_blank);
        if parts.len() == 1 && is_blank_part(&parts[0]) {
            return Some((vec![0], Vec::new()));
        }
        let mut shape: Option<Vec<usize>> = None;
        let mut found = Vec::new();
        let count = parts.len();
        for part in parts {
            let start = part.trim_start_matches(|c: char| c.is_ascii() && is_blank(c as u8));
            let of_part = if start.starts_with('{') {
                let (shape, elements) = slow(start, depth + 1)?;
                found.extend(elements);
                shape
            } else {
                found.push(slow_element(start)?);
                Vec::new()
            };
            if shape.get_or_insert_with(|| of_part.clone()) != &of_part {
                return None;
            }
        }
        let mut of_all = vec![count];
        of_all.extend(shape?);
        Some((of_all, found))
    }

    fn slow_element(text: &str) -> Option<Option<String>> {
        let mut out = String::new();
        let mut kept = 0;
        let mut is_special = false;
        let mut characters = text.chars();
        if let Some(rest) = text.strip_prefix('"') {
            let mut characters = rest.chars();
            loop {
                match characters.next()? {
                    '"' => break,
                    '\\' => out.push(characters.next()?),
                    c => out.push(c),
                }
            }
            let is_end = characters.as_str().bytes().all(is_blank);
            return is_end.then_some(Some(out));
        }
        if text.is_empty() {
            return None;
        }
        while let Some(c) = characters.next() {
            match c {
                '"' | '{' | '}' => return None,
                '\\' => {
                    is_special = true;
                    out.push(characters.next()?);
                    kept = out.len();
                }
                c => {
                    out.push(c);
                    if !(c.is_ascii() && is_blank(c as u8)) {
                        kept = out.len();
                    }
                }
            }
        }
        out.truncate(kept);
        if !is_special && out.eq_ignore_ascii_case("null") {
            return Some(None);
        }
        Some(Some(out))
    }

    proptest! {
        #[test]
        fn as_the_slow_reader(text in "[{}, \"\\\\aN]{0,12}|\\{[{},\"\\\\a NULl]{0,14}\\}") {
            // Braces without elements fit any depth; all others must have the same depth.
            let nested_empty = text.contains("{}") || text.replace(' ', "").contains("{}");
            if !nested_empty {
                let expected = slow(&text, 1).map(|(_, elements)| elements);
                let found = elements(&text)
                    .map(|found| found.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
                prop_assert_eq!(found, expected, "{}", text);
            }
        }

        #[test]
        fn every_text_survives(
            rows in (1usize..4).prop_flat_map(|width| {
                proptest::collection::vec(
                    proptest::collection::vec(proptest::option::of(any::<String>()), width), 1..4)
            })
        ) {
            let found = elements(&written(&rows)).expect("an array");
            let found: Vec<Option<String>> = found.into_iter().map(|(_, value)| value).collect();
            prop_assert_eq!(found, rows.concat());
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,30}") {
            let _ = elements(&text);
        }
    }
}
