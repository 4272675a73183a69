//! The columns of a table or query that a flow reads (`columns` of a `source`).

use std::path::Path;

use inrush_rows::same_name::place_of;
use inrush_rows::sql_text::identifier;

use crate::SourceError;
use crate::error::unsuitable;

/// The suffix of a column whose values are read as the database's text.
pub const AS_TEXT: &str = "::text";

/// The fix for a column whose type cannot be read or loaded: the setting `columns`, as it is written in a command and
/// in a package. `...` stands for columns that are not listed.
pub fn read_as_text<'a>(columns: impl IntoIterator<Item = &'a str>) -> String {
    let columns: Vec<&str> = columns.into_iter().collect();
    let quoted: Vec<String> = columns.iter().map(|name| format!("{name:?}")).collect();
    format!(
        "read the database's text instead: --columns '{}', or in a package source = {{ ..., columns = [{}] }}",
        columns.join(", ").replace('\'', r"'\''"),
        quoted.join(", ")
    )
}

/// The columns that are read: the named columns, or all columns. Returns the name of each as the table spells it, and
/// true if its values are read as text. Upper and lower case does not matter ([`place_of`]). A column that is named in
/// two spellings is read once.
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
    let mut spelled: Vec<&str> = Vec::with_capacity(named.len());
    for text in named {
        let (name, is_text) = match text.strip_suffix(AS_TEXT) {
            Some(name) if !all.contains(text) => (name.trim_end(), true),
            _ => (text.as_str(), false),
        };
        let place = place_of(name, all.iter().map(String::as_str)).map_err(|several| {
            let listed = |names: &mut dyn Iterator<Item = &String>| {
                let names: Vec<String> = names.map(|name| identifier(name)).collect();
                names.join(", ")
            };
            match several.is_empty() {
                true => unsuitable(
                    input,
                    format!("it has no column {}", identifier(name)),
                    format!("its columns are {}", listed(&mut all.iter())),
                ),
                false => unsuitable(
                    input,
                    format!("{} may mean several of its columns", identifier(name)),
                    format!(
                        "spell it exactly as one of {}",
                        listed(&mut several.iter().map(|place| &all[*place]))
                    ),
                ),
            }
        })?;
        let own = &all[place];
        match chosen.iter().find(|(other, _)| other == own) {
            // A lookup may name one column in two spellings: as its key and as a column to take.
            Some((_, other_is_text)) if *other_is_text == is_text && !spelled.contains(&name) => {}
            Some(_) => {
                let what = format!("the column {} is named twice", identifier(name));
                return Err(unsuitable(input, what, "name each column once"));
            }
            None => chosen.push((own.clone(), is_text)),
        }
        spelled.push(name);
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
        assert_eq!(
            chosen(&["Id", "TAGS::text", "ID"]),
            Ok(vec![of("id", false), of("tags", true)])
        );
        let unknown = chosen(&["key"]).expect_err("it has no such column");
        assert!(
            unknown.contains(r#"no column "key""#) && unknown.contains("tags"),
            "{unknown}"
        );
        let all = ["id", "ID"].map(str::to_owned);
        let named = ["Id".to_owned()];
        let several = choose_columns(input, &all, &named).expect_err("two are alike");
        let several = several.to_string();
        assert!(several.contains("may mean several"), "{several}");
        let twice = chosen(&["id", "id::text"]).expect_err("it is named twice");
        assert!(twice.contains("twice"), "{twice}");
    }
}
