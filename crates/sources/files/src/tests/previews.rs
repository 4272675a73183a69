//! Tests of previews.

use tempfile::tempdir;

use super::super::Preview;
use super::*;

#[test]
fn the_first_records_are_shown_decoded() {
    let folder = tempdir().expect("a folder");
    let text = "\u{feff}id,name\n\n1,\"a\"\"b\"\n2,\n3,c\"d\n4,e\n";
    let file = write(folder.path(), "file.csv", text);
    let preview = Preview::read(&file, &Dialect::csv(), 3).expect("readable");
    assert_eq!(
        preview.header,
        Some(vec!["id".to_owned(), "name".to_owned()])
    );
    let fields: Vec<_> = preview
        .records
        .iter()
        .map(|record| record.fields.clone())
        .collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        fields,
        [
            vec![text("1"), text("a\"b")],
            vec![text("2"), None],
            vec![text("3"), text("c\"d")],
        ]
    );
    assert_eq!(preview.records[0].location.line, 3);
    assert_eq!(preview.records[0].location.byte_offset, 12);
    assert_eq!(preview.records[2].fault, Some(FaultKind::StrayQuote));
    assert!(preview.records.iter().all(|record| record.is_utf8));
}

#[test]
fn files_without_rows_show_none() {
    let folder = tempdir().expect("a folder");
    let empty = write(folder.path(), "empty.csv", "");
    let header = write(folder.path(), "header.csv", "a,b\n");
    let preview = Preview::read(&empty, &Dialect::csv(), 1).expect("readable");
    assert_eq!((preview.header, preview.records), (None, vec![]));
    let preview = Preview::read(&header, &Dialect::csv(), 1).expect("readable");
    assert_eq!(preview.header.map(|names| names.len()), Some(2));
    assert_eq!(preview.records, []);
}

#[test]
fn records_longer_than_the_first_read_are_shown() {
    let folder = tempdir().expect("a folder");
    let file = write(
        folder.path(),
        "file",
        format!("{}|\n\u{fffd}|\n", "x".repeat(200_000)),
    );
    let preview = Preview::read(&file, &Dialect::tbl(), 5).expect("readable");
    let lengths: Vec<_> = preview.records[0]
        .fields
        .iter()
        .map(|f| f.as_ref().map(String::len))
        .collect();
    assert_eq!(lengths, [Some(200_000)]);
    assert_eq!(preview.records.len(), 2);
}
