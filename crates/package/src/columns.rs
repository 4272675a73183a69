//! Columns in their short form, `"name type not null"`, and in their long form, a table.

use super::column_check::ALL_OTHERS;
use super::error::PackageFaultKind;
use super::name::{NameFault, quoted_where_needed, take_name, valid};
use super::type_text::type_text;
use super::{ColumnDetail, ColumnSpec};

impl ColumnSpec {
    /// The column in its long form, with its name unquoted and its type normalized.
    pub fn detail(&self) -> Result<ColumnDetail, PackageFaultKind> {
        match self {
            ColumnSpec::Short(text) => short(text).map_err(|fault| fault.of_value("columns", text)),
            ColumnSpec::Long(detail) => {
                let detail = detail.as_ref();
                valid(&detail.name).map_err(|fault| fault.of_value("name", &detail.name))?;
                let type_name = match &detail.type_name {
                    Some(text) => {
                        Some(type_text(text).map_err(|fault| fault.of_value("type", text))?)
                    }
                    None => None,
                };
                Ok(ColumnDetail {
                    type_name,
                    ..detail.clone()
                })
            }
        }
    }

    /// The column in its short form, if that form can express all of its settings.
    pub fn short(detail: &ColumnDetail) -> Option<ColumnSpec> {
        let shown = ColumnDetail {
            type_name: detail.type_name.clone(),
            nullable: detail.nullable,
            skip: detail.skip,
            ..ColumnDetail::named(&detail.name)
        };
        let says_more = shown != *detail;
        if says_more || detail.skip && (detail.type_name.is_some() || !detail.nullable) {
            return None;
        }
        let mut text = match detail.name.as_str() {
            ALL_OTHERS if detail.skip => ALL_OTHERS.to_owned(),
            name => quoted_where_needed(name),
        };
        if detail.skip {
            text.push_str(" skip");
        }
        if let Some(type_name) = &detail.type_name {
            text.push(' ');
            text.push_str(type_name);
        }
        if !detail.nullable {
            text.push_str(" not null");
        }
        Some(ColumnSpec::Short(text))
    }
}

/// The columns of a list in one text, as in a command's argument: `id bigint not null, price numeric(15,2), "Odd, name"
/// text`.
pub fn split_columns(text: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let mut depth = 0_i32;
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth <= 0 => {
                columns.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(column) = columns.last_mut() {
            column.push(character);
        }
    }
    // A comma after the last column is allowed.
    if columns.len() > 1 && columns.last().is_some_and(|last| last.trim().is_empty()) {
        columns.pop();
    }
    columns
        .into_iter()
        .map(|column| column.trim().to_owned())
        .collect()
}

fn short(text: &str) -> Result<ColumnDetail, NameFault> {
    let text = text.trim();
    let (name, rest) = match text.strip_prefix(ALL_OTHERS) {
        Some(rest) => (ALL_OTHERS.to_owned(), rest),
        None => take_name(text)?,
    };
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Err(NameFault {
            cause: format!("`{rest}` follows the name directly"),
            mend: "write the name, a blank and the type; a name with other characters than \
                   letters, digits and _ in double quotes"
                .to_owned(),
        });
    }
    let is_skip = |rest: &str| rest.trim().eq_ignore_ascii_case("skip");
    if is_skip(rest) {
        return Ok(ColumnDetail {
            skip: true,
            ..ColumnDetail::named(&name)
        });
    }
    if name == ALL_OTHERS {
        return Err(NameFault {
            cause: "`*` stands for all fields that no other column takes, and they can only be \
                    skipped"
                .to_owned(),
            mend: "write \"* skip\"".to_owned(),
        });
    }
    let (rest, nullable) = without_null(rest);
    if is_skip(rest) {
        return Err(NameFault {
            cause: "a skipped field is not loaded, so it has no other settings".to_owned(),
            mend: format!("write \"{} skip\"", quoted_where_needed(&name)),
        });
    }
    let type_name = match rest.trim() {
        "" => None,
        text => Some(type_text(text)?),
    };
    Ok(ColumnDetail {
        type_name,
        nullable,
        ..ColumnDetail::named(&name)
    })
}

/// The text without `not null` or `null` at its end, and whether NULL is allowed.
fn without_null(text: &str) -> (&str, bool) {
    match without_word(text, "null") {
        None => (text, true),
        Some(before) => match without_word(before, "not") {
            None => (before, true),
            Some(before) => (before, false),
        },
    }
}

fn without_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let text = text.trim_end();
    let start = text.len().checked_sub(word.len())?;
    let (before, last) = (text.get(..start)?, text.get(start..)?);
    (last.eq_ignore_ascii_case(word) && before.ends_with(|c: char| c.is_whitespace() || c == ')'))
        .then_some(before)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn detail(text: &str) -> (String, Option<String>, bool) {
        let detail = ColumnSpec::Short(text.to_owned())
            .detail()
            .unwrap_or_else(|fault| panic!("{text}: {fault}"));
        (detail.name, detail.type_name, detail.nullable)
    }

    macro_rules! reads {
        ($($name:ident: $text:expr => $column:expr, $type_name:expr, $nullable:expr;)*) => {$(
            #[test]
            fn $name() {
                let type_name: Option<&str> = $type_name;
                assert_eq!(
                    detail($text),
                    ($column.to_owned(), type_name.map(str::to_owned), $nullable)
                );
            }
        )*};
    }

    reads! {
        name_only: "a" => "a", None, true;
        name_and_type: " o_orderkey  bigint " => "o_orderkey", Some("bigint"), true;
        folded: "O_ORDERKEY BIGINT NOT NULL" => "o_orderkey", Some("bigint"), false;
        null_said: "a int null" => "a", Some("int"), true;
        not_null_without_type: "a not null" => "a", None, false;
        not_null_after_parenthesis: "a numeric(3,1)not null" => "a", Some("numeric(3,1)"), false;
        quoted: r#""Odd ""Name""" timestamp(3) with time zone"#
            => r#"Odd "Name""#, Some("timestamp(3) with time zone"), true;
        called_null: "null text" => "null", Some("text"), true;
        called_not: "not null" => "not", None, true;
        called_skip: "skip" => "skip", None, true;
    }

    #[test]
    fn fields_that_are_skipped() {
        for (text, name) in [
            ("x skip", "x"),
            (" \"Odd Name\"  SKIP", "Odd Name"),
            ("* skip", "*"),
        ] {
            let detail = ColumnSpec::Short(text.to_owned()).detail().expect(text);
            assert!(detail.skip, "{text}");
            assert_eq!((detail.name.as_str(), &detail.type_name), (name, &None));
            let short = ColumnSpec::short(&detail).expect("it has a short form");
            assert_eq!(short.detail(), Ok(detail));
        }
    }

    #[test]
    fn a_list_is_split_at_its_own_commas_only() {
        assert_eq!(
            split_columns("a numeric(15,2), \"b,(\" text not null ,c"),
            ["a numeric(15,2)", "\"b,(\" text not null", "c"]
        );
        assert_eq!(split_columns("a int,"), ["a int"]);
        assert_eq!(split_columns("a,,b"), ["a", "", "b"]);
        assert_eq!(split_columns(""), [""]);
    }

    #[test]
    fn a_column_is_no_more_than_name_type_and_not_null() {
        for text in [
            "",
            "a int default 0",
            "a-b int",
            "1 int",
            "a int; drop",
            "\"a\"b int",
            "x skip not null",
            "*",
            "* int",
            "*skip",
            "\"*\" text",
        ] {
            assert!(
                ColumnSpec::Short(text.to_owned()).detail().is_err(),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_short_form_is_read_back(
            name in "[^\\p{Cc}]{1,15}",
            type_name in prop::option::of(prop::sample::select(vec!["int", "numeric(3,-1)", "a.\"B\"[]"])),
            nullable in any::<bool>(),
        ) {
            prop_assume!(name != ALL_OTHERS);
            let detail = ColumnDetail {
                type_name: type_name.map(str::to_owned),
                nullable,
                ..ColumnDetail::named(&name)
            };
            let short = ColumnSpec::short(&detail).expect("it says no more than the short form");
            prop_assert_eq!(short.detail(), Ok(detail));
        }
    }
}
