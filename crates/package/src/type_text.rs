//! The text of a column's type, checked by a grammar that allows nothing but a type.
//!
//! It becomes part of a CREATE TABLE, so it may contain nothing that could end the column or the statement: only names,
//! numbers in parentheses, and `[]`. The database decides the meaning of the words.

use inrush_rows::sql_text::identifier;

use super::name::{NameFault, quoted_where_needed, take_name};

/// Types whose names are several words; `(` marks where numbers in parentheses are allowed.
const SEVERAL_WORDS: [&str; 12] = [
    "double precision",
    "character varying (",
    "char varying (",
    "national character (",
    "national char (",
    "national character varying (",
    "national char varying (",
    "bit varying (",
    "time ( with time zone",
    "time ( without time zone",
    "timestamp ( with time zone",
    "timestamp ( without time zone",
];

/// Words that mean one type in quotes and another without, because SQL's grammar has a type of that name: `"char"` is
/// one byte, and `char` is `character(1)`.
const OTHER_IN_QUOTES: [&str; 14] = [
    "bigint",
    "bit",
    "boolean",
    "char",
    "character",
    "dec",
    "decimal",
    "float",
    "int",
    "integer",
    "national",
    "nchar",
    "real",
    "smallint",
];

/// The fields that an interval may be restricted to.
const INTERVAL_FIELDS: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];

/// Words that begin a further clause of a column definition.
const CLAUSES: [&str; 11] = [
    "check",
    "collate",
    "compression",
    "constraint",
    "default",
    "generated",
    "null",
    "primary",
    "references",
    "storage",
    "unique",
];

/// The type in its normal form: `NUMERIC (15, 2)` becomes `numeric(15,2)`.
pub(super) fn type_text(text: &str) -> Result<String, NameFault> {
    let mut rest = text.trim();
    let mut name = String::new();
    let mut words: Vec<String> = Vec::new();
    let mut numbers: Option<String> = None;
    let mut dimensions = String::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('(') {
            if numbers.is_some() || words.is_empty() && name.is_empty() {
                return Err(odd("("));
            }
            let (read, after) = take_numbers(inside)?;
            words.push("(".to_owned());
            numbers = Some(read);
            rest = after.trim_start();
        } else if rest.starts_with('[') {
            let (read, after) = take_dimensions(rest)?;
            dimensions = read;
            rest = after;
            if !rest.is_empty() {
                return Err(odd(rest));
            }
        } else if !rest.starts_with(|c: char| c == '"' || c == '_' || c.is_alphabetic()) {
            return Err(odd(rest));
        } else {
            let is_quoted = rest.starts_with('"');
            let (word, after) = take_name(rest)?;
            if is_quoted || after.starts_with('.') {
                if !words.is_empty() || !name.is_empty() {
                    return Err(odd(rest));
                }
                (name, rest) = take_qualified(word, after)?;
            } else if !name.is_empty() {
                return Err(odd(rest));
            } else {
                if CLAUSES.contains(&word.as_str()) {
                    return Err(clause(&word));
                }
                words.push(word);
                rest = after;
            }
            rest = rest.trim_start();
        }
    }
    let numbers = numbers.unwrap_or_default();
    if !name.is_empty() {
        return Ok(format!("{name}{numbers}{dimensions}"));
    }
    match words.as_slice() {
        [] => Err(NameFault {
            cause: "there is no type".to_owned(),
            mend: "write a type, for example numeric(15,2)".to_owned(),
        }),
        words if is_known(words) => Ok(format!("{}{dimensions}", shown(words, &numbers))),
        words => Err(NameFault {
            cause: format!("`{}` is not a type", shown(words, &numbers)),
            mend: "a column has a name, a type and optionally `not null`".to_owned(),
        }),
    }
}

/// True if the words are the name of a type. A single word is always accepted; the database decides.
fn is_known(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_] | [_, "("] => true,
        ["interval", fields @ ..] => {
            let fields: Vec<&str> = fields.iter().copied().filter(|word| *word != "(").collect();
            match fields.as_slice() {
                [one] => INTERVAL_FIELDS.contains(one),
                [one, "to", other] => {
                    INTERVAL_FIELDS.contains(one) && INTERVAL_FIELDS.contains(other)
                }
                _ => false,
            }
        }
        _ => SEVERAL_WORDS.iter().any(|pattern| {
            let pattern: Vec<&str> = pattern.split(' ').collect();
            let bare: Vec<&str> = pattern
                .iter()
                .copied()
                .filter(|word| *word != "(")
                .collect();
            words == pattern || words == bare
        }),
    }
}

fn shown(words: &[String], numbers: &str) -> String {
    let mut text = String::new();
    for word in words {
        match word.as_str() {
            "(" => text.push_str(numbers),
            word => {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(word);
            }
        }
    }
    text
}

/// `15, 2)` or `max)`, and the text after it.
fn take_numbers(inside: &str) -> Result<(String, &str), NameFault> {
    let not_numbers = || NameFault {
        cause: "only whole numbers, or max, are allowed in the parentheses of a type".to_owned(),
        mend: "write it like numeric(15,2) or varchar(40)".to_owned(),
    };
    let (inside, after) = inside.split_once(')').ok_or_else(|| NameFault {
        cause: "a parenthesis is not closed".to_owned(),
        mend: "write it like numeric(15,2)".to_owned(),
    })?;
    // A text or binary value of any length, in some databases.
    if inside.trim().eq_ignore_ascii_case("max") {
        return Ok(("(max)".to_owned(), after));
    }
    let mut numbers = Vec::new();
    for number in inside.split(',') {
        let number: i32 = number.trim().parse().map_err(|_| not_numbers())?;
        numbers.push(number.to_string());
    }
    if numbers.len() > 2 {
        return Err(not_numbers());
    }
    Ok((format!("({})", numbers.join(",")), after))
}

/// `[]`, `[3]` or several of them, and the text after them.
fn take_dimensions(text: &str) -> Result<(String, &str), NameFault> {
    let mut dimensions = String::new();
    let mut rest = text;
    while let Some(inside) = rest.strip_prefix('[') {
        let (size, after) = inside.split_once(']').ok_or_else(|| odd("["))?;
        if !size.trim().bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(odd(size));
        }
        // PostgreSQL ignores the sizes.
        dimensions.push_str("[]");
        rest = after.trim_start();
    }
    Ok((dimensions, rest))
}

/// `schema.name`, from its first part on.
fn take_qualified(first: String, after: &str) -> Result<(String, &str), NameFault> {
    if !after.starts_with('.') && OTHER_IN_QUOTES.contains(&first.as_str()) {
        return Ok((identifier(&first), after));
    }
    let first = quoted_where_needed(&first);
    match after.strip_prefix('.') {
        Some(rest) => {
            let (second, rest) = take_name(rest)?;
            if rest.starts_with('.') {
                return Err(odd(rest));
            }
            Ok((format!("{first}.{}", quoted_where_needed(&second)), rest))
        }
        None => Ok((first, after)),
    }
}

fn odd(rest: &str) -> NameFault {
    NameFault {
        cause: format!("`{}` is not allowed in a type there", rest.trim()),
        mend: "a type is written like numeric(15,2), timestamp with time zone, \
               schema.\"Odd Type\" or integer[]"
            .to_owned(),
    }
}

fn clause(word: &str) -> NameFault {
    NameFault {
        cause: format!("`{word}` is not part of a type"),
        mend: "a column here has a name, a type and optionally `not null`; for more, create the \
               table first, then load into it"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    macro_rules! reads {
        ($($name:ident: $text:expr => $shown:expr;)*) => {$(
            #[test]
            fn $name() {
                assert_eq!(type_text($text).as_deref(), Ok($shown));
                assert_eq!(type_text($shown).as_deref(), Ok($shown));
            }
        )*};
    }

    reads! {
        word: "BIGINT" => "bigint";
        numeric: "NUMERIC ( 15 , 2 )" => "numeric(15,2)";
        negative_scale: "numeric(5,-2)" => "numeric(5,-2)";
        any_length: "varchar ( MAX )" => "varchar(max)";
        varchar: "character  varying(10)" => "character varying(10)";
        double: "double precision" => "double precision";
        zone: "timestamp (3) with time zone" => "timestamp(3) with time zone";
        no_zone: "time without time zone" => "time without time zone";
        interval: "interval day to second (3)" => "interval day to second(3)";
        array: "integer[ ] [3]" => "integer[][]";
        array_of_numeric: "numeric(3,1)[]" => "numeric(3,1)[]";
        schema: "Audit.State" => "audit.state";
        quoted: r#""My Types"."Colour; drop""# => r#""My Types"."Colour; drop""#;
        quoted_with_numbers: r#"geo."Point"(3)"# => r#"geo."Point"(3)"#;
        quoted_array: r#""Odd"[]"# => r#""Odd"[]"#;
        one_byte: r#""char""# => r#""char""#;
        one_byte_array: r#""char" [3]"# => r#""char"[]"#;
        one_byte_of_catalog: r#"pg_catalog."char""# => "pg_catalog.char";
        one_character: "CHAR" => "char";
        bits_of_any_length: r#""bit""# => r#""bit""#;
        quoted_needlessly: r#""text""# => "text";
    }

    macro_rules! refuses {
        ($($name:ident: $text:expr;)*) => {$(
            #[test]
            fn $name() {
                assert!(type_text($text).is_err(), "{:?}", type_text($text));
            }
        )*};
    }

    refuses! {
        nothing: "";
        semicolon: "int; drop table a";
        end_of_column: "int, b int";
        end_of_table: "int)";
        comment: "int -- x";
        text_literal: "text default 'a'";
        default_word: "int default 1";
        key: "bigint primary key";
        collation: "text collate \"C\"";
        function: "numeric(now())";
        empty_parentheses: "numeric()";
        max_and_a_number: "varchar(max, 2)";
        open: "numeric(15";
        twice: "numeric(15)(2)";
        dollar_quote: "text $$a$$";
        three_parts: "a.b.c";
        three_numbers: "numeric(1,2,3)";
        after_array: "int[] x";
        unknown_words: "big integer";
        escape_string: "U&\"a\"";
    }

    proptest! {
        #[test]
        fn nothing_that_could_end_a_type_comes_out(text in "[a-z\"();,.\\[\\] '\\-0-9$]{0,20}") {
            if let Ok(read) = type_text(&text) {
                let mut outside = read.clone();
                while let Some(start) = outside.find('"') {
                    let length = outside[start + 1..].find('"').expect("quotes come in pairs");
                    outside.replace_range(start..start + length + 2, "");
                }
                prop_assert!(!outside.contains([';', '\'', '$']) && !outside.contains("--"), "{}", read);
                prop_assert_eq!(outside.matches('(').count(), outside.matches(')').count());
                prop_assert_eq!(type_text(&read), Ok(read));
            }
        }
    }
}
