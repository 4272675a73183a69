//! `docs/preflight.schema.json` equals the schema of the types.

#[test]
fn the_schema_in_the_docs_is_that_of_the_types() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/preflight.schema.json"
    );
    let schema = super::preflight_schema();
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    if std::env::var_os("INRUSH_BLESS").is_some() {
        std::fs::write(path, &text).expect("docs can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        written, text,
        "write it again: INRUSH_BLESS=1 cargo test --workspace --lib -- preflight::schema"
    );
}
