//! T-SQL texts: quoted names and literals, and statements of the user that would end the transaction.

pub use inrush_rows::sql_text::identifier;
use inrush_rows::sql_text::take_identifier;

/// A literal of `nvarchar`. A backslash is an ordinary character, except before a line end, where T-SQL removes both.
pub fn text(value: &str) -> String {
    let escaped = value.replace('\'', "''");
    match escaped.contains("\\\n") || escaped.contains("\\\r\n") {
        // The literal is cut between the two characters. Without the cast, the concatenation would be cut off after
        // 4,000 characters.
        true => format!(
            "(CAST(N'' AS nvarchar(max))+N'{}')",
            escaped
                .replace("\\\n", "\\'+N'\n")
                .replace("\\\r\n", "\\'+N'\r\n")
        ),
        false => format!("N'{escaped}'"),
    }
}

/// `"schema"."table"`.
pub fn table(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

/// Quoted names, separated by commas.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(identifier).collect();
    quoted.join(", ")
}

/// The schema and the name in `"schema"."name"`.
pub fn parse_names(text: &str) -> Option<(String, String)> {
    let (schema, rest) = take_identifier(text)?;
    let (name, rest) = take_identifier(rest.strip_prefix('.')?)?;
    rest.is_empty().then_some((schema, name))
}

/// The word of a user's batch that cannot be part of the publishing transaction, with the reason; `None` if there is
/// none. A batch that ends the transaction in another way is noticed after it has run.
pub fn unsuitable_word(batch: &str) -> Option<(String, &'static str)> {
    let is_go = |line: &str| line.trim().eq_ignore_ascii_case("go");
    if batch.lines().any(is_go) {
        return Some((
            "GO".to_owned(),
            "is a command of sqlcmd, which T-SQL does not know: write each batch as a separate text in the list",
        ));
    }
    let words: Vec<String> = batch
        .split_whitespace()
        .take(2)
        .map(str::to_uppercase)
        .collect();
    let ends = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [first, ..] if matches!(first.trim_end_matches(';'), "COMMIT" | "ROLLBACK") => true,
        ["BEGIN", second] => matches!(second.trim_end_matches(';'), "TRAN" | "TRANSACTION"),
        _ => false,
    };
    ends.then(|| {
        let word = words.join(" ").trim_end_matches(';').to_owned();
        (
            word,
            "would end the transaction that publishes all rows, or begin another: leave it out",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(text("it's \\x"), "N'it''s \\x'");
        assert_eq!(text("a\\\nb"), "(CAST(N'' AS nvarchar(max))+N'a\\'+N'\nb')");
        let odd = "a].\"b'";
        assert_eq!(
            parse_names(&table("s.", odd)),
            Some(("s.".to_owned(), odd.to_owned()))
        );
        for wrong in ["s.t", "\"s\"", "\"s\".\"t\" x", ""] {
            assert_eq!(parse_names(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn batches_that_end_the_transaction_are_found() {
        for (batch, found) in [
            ("commit", true),
            ("ROLLBACK TRANSACTION;", true),
            ("begin tran", true),
            ("update t set n = 1\nGO\n", true),
            ("begin update t set n = 1 end", false),
            ("insert into commit values (1)", false),
            ("", false),
        ] {
            assert_eq!(unsuitable_word(batch).is_some(), found, "{batch}");
        }
    }
}
