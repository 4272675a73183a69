//! The JSON schema of a package, made from its types. Editors use it to complete and check packages, and
//! [`super::schema_check`] checks documents with it.

use std::sync::LazyLock;

use serde_json::Value;

use super::Package;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(Package).to_value();
    tidy(&mut schema);
    schema
});

/// The JSON schema of a package.
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

/// The schema, for the walk over a document.
pub(super) fn schema() -> &'static Value {
    &SCHEMA
}

/// The smallest and the largest number that a setting takes; `table` is the name of its type.
pub(super) fn range(table: &str, setting: &str) -> (i64, i64) {
    let setting = &schema()["$defs"][table]["properties"][setting];
    range_of(setting)
}

/// The smallest and the largest number that a schema of integers allows.
pub(super) fn range_of(schema: &Value) -> (i64, i64) {
    let largest = match schema["format"].as_str() {
        Some("uint16") => i64::from(u16::MAX),
        Some("uint32") => i64::from(u32::MAX),
        _ => i64::MAX,
    };
    (
        schema["minimum"].as_i64().unwrap_or(i64::MIN),
        schema["maximum"].as_i64().unwrap_or(largest),
    )
}

/// The schema that a `$ref` points to, else the schema itself.
pub(super) fn target(schema: &'static Value) -> &'static Value {
    match schema["$ref"].as_str() {
        Some(reference) => self::schema()
            .pointer(reference.trim_start_matches('#'))
            .expect("a generated schema has what it refers to"),
        None => schema,
    }
}

/// TOML has no null, so the schema of an optional setting has none either. Descriptions are one line.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|one| one != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
                branches.retain(|branch| branch["type"] != "null");
                if let [Value::Object(only)] = branches.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            if let Some(Value::Object(default)) = object.get_mut("default") {
                default.retain(|_, value| !value.is_null());
            }
            if let Some(Value::String(description)) = object.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(array) => array.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The schema in `docs/` is the one that the types make. After a change to the types:
    /// `INRUSH_BLESS=1 cargo test --workspace --lib -- schema::`.
    #[test]
    fn the_committed_schema_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/package.schema.json");
        let made = serde_json::to_string_pretty(&json_schema()).expect("a value prints") + "\n";
        if std::env::var_os("INRUSH_BLESS").is_some() {
            std::fs::write(&path, &made).expect("docs/ can be written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == made,
            "docs/package.schema.json is not what the types make; \
             write it again: INRUSH_BLESS=1 cargo test --workspace --lib -- schema::"
        );
    }

    #[test]
    fn nothing_in_it_is_null() {
        assert!(!json_schema().to_string().contains("null\"]"));
        assert!(!json_schema().to_string().contains(":null"));
    }

    #[test]
    fn ranges_are_those_that_are_documented() {
        assert_eq!(range("RunSettings", "streams"), (1, 1024));
        assert_eq!(range("RunSettings", "chunk_bytes"), (64 << 10, 16 << 20));
        assert_eq!(range("RunSettings", "batch_rows"), (64, 65536));
    }
}
