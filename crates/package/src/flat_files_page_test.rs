//! Tests that `docs/flat-files.md` names every key of a format and of a column, every word that they take, and every
//! code of a reject.

use inrush_rows::reject::RejectCode;
use serde_json::Value;

use super::schema::{schema, target};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/flat-files.md");
    std::fs::read_to_string(path).expect("the page is there")
}

/// The texts that a setting takes, if the schema lists them.
fn words(setting: &Value) -> Vec<&str> {
    let branches = setting["oneOf"].as_array().into_iter().flatten();
    branches
        .flat_map(|branch| match &branch["enum"] {
            Value::Array(words) => words.iter().collect(),
            _ => vec![&branch["const"]],
        })
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn every_key_and_word_is_named() {
    let page = page();
    let mut missing = Vec::new();
    for table in ["Format", "ColumnDetail"] {
        let keys = schema()["$defs"][table]["properties"].as_object();
        for (key, setting) in keys.expect("a table has keys") {
            if !page.contains(&format!("`{key}`")) {
                missing.push(format!("{table}.{key}"));
            }
            for word in words(target(setting)) {
                if !page.contains(&format!("`\"{word}\"`")) {
                    missing.push(format!("{table}.{key} = \"{word}\""));
                }
            }
        }
    }
    let codes = schemars::schema_for!(RejectCode).to_value();
    let codes = words(&codes);
    assert!(codes.len() > 10, "the codes are listed: {codes:?}");
    // The server's codes have a page of their own.
    let rejects = include_str!("../../../docs/rejects.md");
    let unnamed = |code: &&str| {
        let name = format!("`{code}`");
        !page.contains(&name) && !rejects.contains(&name)
    };
    missing.extend(codes.into_iter().filter(unnamed).map(str::to_owned));
    assert_eq!(missing, Vec::<String>::new());
}
