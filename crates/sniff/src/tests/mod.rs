//! Tests of small files, and the guess for each.

mod booleans;
mod encodings;
mod forms;
mod headers;
mod hostile;
mod large;
mod packages;
mod row_names;
mod types;

use std::sync::Arc;

use inrush_files::SourceFile;

use super::sample::Extent;
use super::{Guess, SniffError, SniffOptions, sniff, sniff_within};

/// The guess for these files, which are written into a new folder.
fn sniffed_files(files: &[(&str, &[u8])], options: &SniffOptions) -> Result<Guess, SniffError> {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<Arc<SourceFile>> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            Arc::new(SourceFile::open(path).expect("it is there"))
        })
        .collect();
    sniff(&files, options)
}

/// Like [`sniffed_files`] for one file, with samples that are much smaller than the file.
fn sampled(name: &str, text: &[u8], everything: bool) -> Guess {
    const EXTENT: Extent = Extent {
        bytes_max: 256 << 10,
        beginning_bytes_max: 16 << 10,
        piece_bytes_min: 1 << 10,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    let file = Arc::new(SourceFile::open(path).expect("it is there"));
    let options = SniffOptions {
        everything,
        ..SniffOptions::default()
    };
    sniff_within(&[file], &options, &EXTENT).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn sniffed(name: &str, text: &[u8]) -> Guess {
    sniffed_files(&[(name, text)], &SniffOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A short text for the form: `, "" header`, the delimiter first.
fn form(guess: &Guess) -> String {
    let form = &guess.form;
    let mut words = vec![match form.delimiter.as_slice() {
        _ if form.is_single_column => "one".to_owned(),
        b"\t" => "\\t".to_owned(),
        delimiter => String::from_utf8_lossy(delimiter).into_owned(),
    }];
    if let Some(quote) = form.quote {
        words.push(char::from(quote).to_string());
    }
    match form.escape {
        super::FormEscape::Backslash => words.push("\\".to_owned()),
        super::FormEscape::Other(byte) => words.push(format!("escape {byte}")),
        super::FormEscape::None | super::FormEscape::DoubledQuote => {}
    }
    if form.trailing_delimiter {
        words.push("trailing".to_owned());
    }
    if form.header {
        words.push("header".to_owned());
    }
    if form.skip_lines > 0 {
        words.push(format!("skip {}", form.skip_lines));
    }
    if form.nulls != [""] {
        words.push(format!("null {}", form.nulls.join(" ")));
    }
    words.join(" ")
}

/// The columns as a package writes them.
fn columns(guess: &Guess) -> String {
    let columns: Vec<String> = guess
        .columns
        .iter()
        .map(|column| {
            let format = column
                .column_type
                .format()
                .map_or(String::new(), |format| format!(" {format}"));
            format!("{} {}{format}", column.name, column.column_type.sql())
        })
        .collect();
    columns.join(", ")
}

/// Asserts that the note of an unsure guess contains these words.
#[track_caller]
fn assert_unsure(guess: &Guess, words: &[&str]) {
    let unsure = guess.all_unsure();
    for word in words {
        assert!(
            unsure.iter().any(|text| text.contains(word)),
            "{word:?} is not in {unsure:#?}"
        );
    }
    if words.is_empty() {
        assert!(unsure.is_empty(), "{unsure:#?}");
    }
}
