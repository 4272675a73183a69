//! Names of tables and columns, written as in SQL: without quotes they are folded to lower case; in double quotes they
//! are unchanged.

use std::fmt;

use inrush_rows::sql_text::{identifier, take_identifier};

use super::error::PackageFaultKind;

/// The most bytes of a name in a package. Each destination has its own, smaller limit, except for Parquet files and
/// DuckDB, which have none.
pub const NAME_BYTES_MAX: usize = 1_024;

/// The name of a table, with its schema if one is given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// The schema, unquoted; `None` means the first schema of the search path.
    pub schema: Option<String>,
    /// The table, unquoted.
    pub name: String,
}

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameFault {
    pub(super) cause: String,
    pub(super) mend: String,
}

impl NameFault {
    /// The fault of a setting whose value is this text.
    pub(super) fn of_value(self, setting: &str, text: &str) -> PackageFaultKind {
        PackageFaultKind::value(setting, text, self.cause, self.mend)
    }
}

impl TableName {
    /// Reads `table`, `schema.table` or `"Odd schema"."Odd table"`.
    pub fn parse(text: &str) -> Result<TableName, PackageFaultKind> {
        parts(text)
            .and_then(|mut parts| match parts.len() {
                1 | 2 => Ok(TableName {
                    name: parts.pop().unwrap_or_default(),
                    schema: parts.pop(),
                }),
                _ => Err(NameFault {
                    cause: "a table has at most a schema before its name".to_owned(),
                    mend: "the database is chosen by the connection's URL; \
                           a dot inside a name needs double quotes around the name"
                        .to_owned(),
                }),
            })
            .map_err(|fault| fault.of_value("table", text))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", identifier(schema))?;
        }
        f.write_str(&identifier(&self.name))
    }
}

/// A name as it is written in a package: in quotes only if it needs them.
pub fn quoted_where_needed(name: &str) -> String {
    match take_name(name) {
        Ok((read, "")) if read == name => name.to_owned(),
        _ => identifier(name),
    }
}

/// Names separated by dots, unquoted: those of `table.column` or `"Odd schema".table`.
pub fn dotted_names(text: &str) -> Result<Vec<String>, PackageFaultKind> {
    parts(text).map_err(|fault| fault.of_value("name", text))
}

/// Names separated by dots.
pub(super) fn parts(text: &str) -> Result<Vec<String>, NameFault> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (name, after) = take_name(rest)?;
        parts.push(name);
        rest = match after.strip_prefix('.') {
            Some(next) => next,
            None if after.is_empty() => return Ok(parts),
            None => return Err(odd_character(after)),
        };
    }
}

/// A text that is exactly one name.
pub(super) fn single(text: &str) -> Result<String, NameFault> {
    match take_name(text.trim())? {
        (name, "") => Ok(name),
        (_, rest) => Err(odd_character(rest)),
    }
}

/// The name at the beginning of a text, and the rest.
pub(super) fn take_name(text: &str) -> Result<(String, &str), NameFault> {
    let (name, rest) = match text.starts_with('"') {
        true => take_identifier(text).ok_or_else(not_closed)?,
        false => {
            let length = text.find(|c| !is_name_character(c)).unwrap_or(text.len());
            let (name, rest) = text.split_at(length);
            match name.chars().next() {
                // Only ASCII letters are folded, as by a server with UTF-8.
                Some(first) if !first.is_ascii_digit() => (name.to_ascii_lowercase(), rest),
                Some(_) => {
                    return Err(NameFault {
                        cause: format!("the name `{name}` starts with a digit"),
                        mend: format!("put it in double quotes: \"{name}\""),
                    });
                }
                None if rest.is_empty() => return Err(empty()),
                None => return Err(odd_character(rest)),
            }
        }
    };
    valid(&name)?;
    Ok((name, rest))
}

/// Checks that this name can be used in a database as it is.
pub(super) fn valid(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(empty());
    }
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Err(NameFault {
            cause: format!("it has the control character {}", control.escape_default()),
            mend: "remove it".to_owned(),
        });
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameFault {
            cause: format!(
                "a name has at most {NAME_BYTES_MAX} bytes, but this one has {}",
                name.len()
            ),
            mend: "choose a shorter name".to_owned(),
        });
    }
    Ok(())
}

fn is_name_character(character: char) -> bool {
    character == '_'
        || character.is_ascii_alphanumeric()
        || (!character.is_ascii() && character.is_alphanumeric())
}

fn not_closed() -> NameFault {
    NameFault {
        cause: "a double quote is not closed".to_owned(),
        mend: "write \" after the name; \"\" inside it stands for one quote".to_owned(),
    }
}

fn empty() -> NameFault {
    NameFault {
        cause: "a name is empty".to_owned(),
        mend: "write a name".to_owned(),
    }
}

fn odd_character(rest: &str) -> NameFault {
    let character = rest.chars().next().unwrap_or(' ');
    NameFault {
        cause: format!("`{character}` is in a name without double quotes"),
        mend: "put a name with other characters than letters, digits and _ in double quotes"
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
                let read = TableName::parse($text).expect($text).to_string();
                assert_eq!(read, $shown);
                assert_eq!(TableName::parse(&read).expect($shown).to_string(), $shown);
            }
        )*};
    }

    reads! {
        plain: "orders" => r#""orders""#;
        folded: "Public.ORDERS" => r#""public"."orders""#;
        quoted_name: r#""Odd Name""# => r#""Odd Name""#;
        quoted_dot: r#"s."a.b""# => r#""s"."a.b""#;
        quoted_quote: r#""a""b""# => r#""a""b""#;
        not_ascii: "größe" => r#""größe""#;
        injection_in_quotes: r#""a; drop table b""# => r#""a; drop table b""#;
    }

    macro_rules! refuses {
        ($($name:ident: $text:expr => $cause:expr;)*) => {$(
            #[test]
            fn $name() {
                let fault = TableName::parse($text).expect_err($text).to_string();
                assert!(fault.contains($cause), "{fault}");
            }
        )*};
    }

    refuses! {
        nothing: "" => "empty";
        empty_part: "a." => "empty";
        empty_quotes: "\"\"" => "empty";
        three_parts: "a.b.c" => "at most a schema";
        blank: "a b" => "` ` is in a name";
        semicolon: "a;drop" => "`;` is in a name";
        open_quote: "\"a" => "not closed";
        text_after_quote: "\"a\"b" => "`b` is in";
        digit: "1a" => "starts with a digit";
        nul: "\"a\0b\"" => "control character";
    }

    #[test]
    fn a_long_name() {
        let longest = "a".repeat(NAME_BYTES_MAX);
        assert!(TableName::parse(&longest).is_ok());
        let fault = TableName::parse(&(longest + "a")).expect_err("too long");
        let said = fault.to_string();
        assert!(
            said.contains("at most 1024 bytes, but this one has 1025"),
            "{said}"
        );
    }

    proptest! {
        #[test]
        fn any_name_is_quoted_so_that_it_is_read_back(name in "[^\\p{Cc}]{1,15}") {
            let table = TableName { schema: Some(name.clone()), name: name.clone() };
            prop_assert_eq!(TableName::parse(&table.to_string()), Ok(table));
            let short = quoted_where_needed(&name);
            prop_assert_eq!(parts(&short), Ok(vec![name]));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = TableName::parse(&text);
        }
    }
}
