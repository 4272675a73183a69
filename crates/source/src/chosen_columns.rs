//! The columns of a table or query that a flow reads (`columns` of a `source`).

use std::path::Path;

use inrush_rows::sql_text::identifier;

use crate::SourceError;
use crate::error::unsuitable;

/// The suffix of a column whose values are read as the database's text.
pub const AS_TEXT: &str = "::text";

/// The columns that are read: those that are named, or all. Returns the name of each, and true if its values are read as text.
pub fn choose_columns(
    input: &Path,
    all: &[String],
    named: &[String],
) -> Result<Vec<(String, bool)>, SourceError> {
    if all.is_empty() {
        return Err(unsuitable(
            input,
            "it has no columns",
            "name a table with columns",
        ));
    }
    if named.is_empty() {
        return Ok(all.iter().map(|name| (name.clone(), false)).collect());
    }
    let mut chosen: Vec<(String, bool)> = Vec::new();
    for text in named {
        let (name, is_text) = match text.strip_suffix(AS_TEXT) {
            Some(name) if !all.contains(text) => (name.trim_end(), true),
            _ => (text.as_str(), false),
        };
        if !all.iter().any(|known| known == name) {
            let known: Vec<String> = all.iter().map(|name| identifier(name)).collect();
            return Err(unsuitable(
                input,
                format!("it has no column {}", identifier(name)),
                format!("its columns are {}", known.join(", ")),
            ));
        }
        if chosen.iter().any(|(other, _)| other == name) {
            let what = format!("the column {} is named twice", identifier(name));
            return Err(unsuitable(input, what, "name each column once"));
        }
        chosen.push((name.to_owned(), is_text));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_chosen_by_name() {
        let input = Path::new("sales.orders");
        let all = ["id", "tags", "odd::text"].map(str::to_owned);
        let chosen = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            choose_columns(input, &all, &named).map_err(|error| error.to_string())
        };
        let of = |name: &str, is_text| (name.to_owned(), is_text);
        assert_eq!(chosen(&["tags::text"]), Ok(vec![of("tags", true)]));
        assert_eq!(chosen(&["odd::text"]), Ok(vec![of("odd::text", false)]));
        assert_eq!(chosen(&[]).map(|all| all.len()), Ok(3));
        let unknown = chosen(&["Id"]).expect_err("it has no such column");
        assert!(
            unknown.contains(r#"no column "Id""#) && unknown.contains("tags"),
            "{unknown}"
        );
        let twice = chosen(&["id", "id::text"]).expect_err("it is named twice");
        assert!(twice.contains("twice"), "{twice}");
    }
}
