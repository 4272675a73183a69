//! The schemas in `docs` equal those of the types of results files.

use serde_json::Value;

/// Fails if a schema in `docs` differs from this one; `INRUSH_BLESS=1` writes it again.
fn hold(file: &str, schema: &Value) {
    let path = format!("{}/../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
    text.push('\n');
    if std::env::var_os("INRUSH_BLESS").is_some() {
        std::fs::write(&path, &text).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, text,
        "write it again: INRUSH_BLESS=1 cargo test --release -p inrush-workloads schema"
    );
}

#[test]
fn the_schema_of_etlwr_is_that_of_its_types() {
    hold("bench-etlwr.schema.json", &crate::etlwr::results_schema());
}

#[test]
fn the_schema_of_clients_is_that_of_their_types() {
    hold(
        "bench-clients.schema.json",
        &crate::clients::results_schema(),
    );
}
