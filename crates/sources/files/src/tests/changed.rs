//! Tests of files that have changed since the load was planned.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, SystemTime};

use tempfile::tempdir;

use super::*;

type Change = fn(&SourceFile);

fn append(file: &SourceFile, text: &str) {
    let mut open = OpenOptions::new()
        .append(true)
        .open(&file.path)
        .expect("the file can be written");
    open.write_all(text.as_bytes())
        .expect("the file can be written");
}

fn truncate(file: &SourceFile, bytes: u64) {
    let open = OpenOptions::new().write(true).open(&file.path);
    open.expect("the file can be written")
        .set_len(bytes)
        .expect("it can be shortened");
}

fn set_modified(file: &SourceFile, seconds: u64) {
    let open = OpenOptions::new().write(true).open(&file.path);
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    open.expect("the file can be written")
        .set_modified(time)
        .expect("times can be set");
}

#[test]
fn changes_before_reading_are_found() {
    let folder = tempdir().expect("a folder");
    let ending = "; load files only after they are written completely, then run the same command \
                  again";
    let changes: [(Change, &str); 3] = [
        (
            |file| append(file, "3|\n"),
            "(it had 6 bytes and now has 9)",
        ),
        (|file| truncate(file, 3), "(it had 6 bytes and now has 3)"),
        (
            |file| set_modified(file, 1_000_000_000),
            "(it was written again)",
        ),
    ];
    for (change, what) in changes {
        let file = write(folder.path(), "file", "1|\n2|\n");
        change(&file);
        let error = read(&file, &Dialect::tbl(), 100).expect_err("changed");
        assert_eq!(
            message(error, folder.path()),
            format!("FOLDER/file: changed since the load was planned {what}{ending}")
        );
    }
}

#[test]
fn changes_while_reading_are_found() {
    let folder = tempdir().expect("a folder");
    let changes: [Change; 3] = [
        |file| append(file, "3|\n"),
        |file| truncate(file, 3000),
        |file| set_modified(file, 1_000_000_000),
    ];
    for change in changes {
        let file = write(folder.path(), "file", "1|\n".repeat(2000));
        let split = Split::whole(Arc::clone(&file));
        let mut reader =
            TextReader::open(split, &Dialect::tbl(), 100, BufferPool::default()).expect("opens");
        let mut records = Records::default();
        reader
            .next_chunk(&mut records)
            .expect("readable")
            .expect("a chunk");
        change(&file);
        let error = loop {
            match reader.next_chunk(&mut records) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the change was not found"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, SourceError::Changed { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_gone_is_told() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file", "1|\n");
    fs::remove_file(&file.path).expect("it can be removed");
    let error = read(&file, &Dialect::tbl(), 100).expect_err("gone");
    let text = message(error, folder.path());
    assert!(
        text.starts_with("FOLDER/file: cannot be opened: No such file"),
        "{text}"
    );
    assert!(
        text.ends_with("it existed a moment ago: is another program moving files?"),
        "{text}"
    );
}
