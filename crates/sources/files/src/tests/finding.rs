//! Tests of patterns on folders.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use inrush_rows::compression::Compression;
use tempfile::{TempDir, tempdir};

use super::super::{compression_of, resolve};
use super::*;

fn folder_of(names: &[&str]) -> TempDir {
    let folder = tempdir().expect("a folder");
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("can be made");
        fs::write(path, "1|\n").expect("can be written");
    }
    folder
}

fn found(folder: &Path, patterns: &[&str]) -> Vec<String> {
    let patterns: Vec<_> = patterns.iter().map(|pattern| pattern.to_string()).collect();
    let files = resolve(&patterns, folder).expect("files");
    let name = |file: &SourceFile| {
        let path = file.path.strip_prefix(folder).expect("in the folder");
        path.to_string_lossy().into_owned()
    };
    files.iter().map(name).collect()
}

fn refused(folder: &Path, patterns: &[&str]) -> String {
    let patterns: Vec<_> = patterns.iter().map(|pattern| pattern.to_string()).collect();
    message(resolve(&patterns, folder).expect_err("refused"), folder)
}

#[test]
fn globs_come_in_natural_order() {
    let folder = folder_of(&[
        "o.tbl.10",
        "o.tbl.2",
        "o.tbl.1",
        "p.tbl",
        ".o.tbl.3",
        "o.tbl.d/x",
    ]);
    let folder = folder.path();
    assert_eq!(
        found(folder, &["o.tbl.*"]),
        ["o.tbl.1", "o.tbl.2", "o.tbl.10"]
    );
    assert_eq!(
        found(folder, &["p.tbl", "o.tbl.?"]),
        ["p.tbl", "o.tbl.1", "o.tbl.2"]
    );
    assert_eq!(found(folder, &["**/x"]), ["o.tbl.d/x"]);
    assert_eq!(
        found(folder, &["**"]),
        ["o.tbl.1", "o.tbl.2", "o.tbl.10", "o.tbl.d/x", "p.tbl"]
    );
    assert_eq!(found(folder, &["**/**/o*[!2]"]), ["o.tbl.1", "o.tbl.10"]);
    assert_eq!(found(folder, &[".o*"]), [".o.tbl.3"]);
    assert_eq!(found(folder, &["./p.tbl"]), ["p.tbl"]);
}

#[test]
fn names_that_are_not_utf8_are_found() {
    let folder = tempdir().expect("a folder");
    let name = std::ffi::OsStr::from_bytes(b"a\xff.csv");
    fs::write(folder.path().join(name), "").expect("can be written");
    let files = resolve(&["*.csv".to_owned()], folder.path()).expect("there");
    assert_eq!(files[0].path.file_name(), Some(name));
}

#[test]
fn a_link_to_a_folder_above_ends() {
    let folder = folder_of(&["d/a"]);
    symlink(folder.path(), folder.path().join("d/loop")).expect("links can be made");
    assert_eq!(found(folder.path(), &["**/a"]), ["d/a"]);
}

#[test]
fn absolute_patterns_need_no_base() {
    let folder = folder_of(&["a.csv"]);
    let pattern = folder.path().join("*.csv").to_string_lossy().into_owned();
    let files = resolve(&[pattern], Path::new("/nowhere")).expect("files");
    assert_eq!(*files[0].path, folder.path().join("a.csv"));
    assert_eq!(files[0].size_bytes, 3);
    assert!(files[0].modified_ns > 1_600_000_000_000_000_000);
}

#[test]
fn a_base_with_brackets_is_no_pattern() {
    let folder = folder_of(&["[x]/a.csv", "[x]/b[1].csv", "[x]/b1.csv"]);
    let base = folder.path().join("[x]");
    assert_eq!(found(&base, &["a*.csv"]), ["a.csv"]);
    assert_eq!(
        found(&base, &["b[1].csv"]),
        ["b[1].csv"],
        "the name of an existing file is not a pattern"
    );
    assert_eq!(found(&base, &["b[12].csv"]), ["b1.csv"]);
}

#[test]
fn a_file_is_taken_once() {
    let folder = folder_of(&["a.csv", "b.csv"]);
    let folder = folder.path();
    assert_eq!(
        found(folder, &["b.csv", "*.csv", "./a.csv"]),
        ["b.csv", "a.csv"]
    );
    symlink(folder.join("a.csv"), folder.join("latest.csv")).expect("links can be made");
    assert_eq!(
        found(folder, &["latest.csv", "b.csv"]),
        ["latest.csv", "b.csv"]
    );
    assert_eq!(
        refused(folder, &["*.csv"]),
        "FOLDER/a.csv and FOLDER/latest.csv are one and the same file, and its rows would be \
         loaded twice; name only one of them"
    );
}

#[test]
fn names_tell_the_compression() {
    for (name, expected) in [
        ("a.tbl.gz", Compression::Gzip),
        ("a.GZIP", Compression::Gzip),
        ("a.csv.zst", Compression::Zstd),
        ("a.zstd", Compression::Zstd),
        ("a.bz2", Compression::Bzip2),
        ("a.XZ", Compression::Xz),
        ("a.zip", Compression::Zip),
        ("a.csv.gz.12", Compression::Gzip),
        ("a.gz.csv", Compression::None),
        ("gz", Compression::None),
    ] {
        assert_eq!(compression_of(Path::new(name)), expected, "{name}");
    }
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let folder = folder_of(&[
        "data/orders.tbl",
        "data/lineitem.tbl",
        "data/part.tbl",
        "x",
        "e/.f",
    ]);
    let folder = folder.path();
    fs::remove_file(folder.join("e/.f")).expect("can be removed");
    fs::create_dir(folder.join("data/sub")).expect("can be made");
    assert_eq!(
        refused(folder, &["data/order.tbl"]),
        "FOLDER/data/order.tbl: no such file; the folder is FOLDER/data; nearest there: \
         orders.tbl, part.tbl, lineitem.tbl"
    );
    assert_eq!(
        refused(folder, &["data/order*.csv"]),
        "data/order*.csv: no file matches; the folder is FOLDER/data; nearest there: orders.tbl, \
         part.tbl, lineitem.tbl"
    );
    assert_eq!(
        refused(folder, &["date/sub/*.tbl"]),
        "date/sub/*.tbl: no file matches; FOLDER has no folder date; nearest there: data, e, x"
    );
    assert_eq!(
        refused(folder, &["x/a.tbl"]),
        "FOLDER/x/a.tbl: no such file; FOLDER has no folder x; nearest there: x, data, e"
    );
    assert_eq!(
        refused(folder, &["e/*"]),
        "e/*: no file matches; the folder is FOLDER/e, and it is empty"
    );
    assert_eq!(
        refused(folder, &["data/s*"]),
        "data/s*: no file matches; it matches only folders, such as FOLDER/data/sub; to load \
         the files in them, add /*"
    );
    assert!(refused(folder, &["~/a.csv"]).contains("~ is replaced by the shell"));
    let error = resolve(&["none_such*.csv".to_owned()], Path::new("")).expect_err("refused");
    assert!(error.to_string().contains("the folder is .;"), "{error}");
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = folder_of(&["d/a"]);
    let path = folder.path();
    assert_eq!(
        refused(path, &["d"]),
        "FOLDER/d: a folder, not a file; to load the files in it write FOLDER/d/*"
    );
    assert_eq!(
        refused(path, &["/dev/null"]),
        "/dev/null: a device, which is neither a file nor a pipe; write its data to a file first"
    );
    let _socket = std::os::unix::net::UnixListener::bind(path.join("s")).expect("can be made");
    assert!(
        refused(path, &["s"]).starts_with("FOLDER/s: a socket, which is neither a file nor a pipe")
    );
    symlink("gone", path.join("l")).expect("links can be made");
    assert_eq!(
        refused(path, &["l"]),
        "FOLDER/l: no such file; it is a link to gone, which does not exist"
    );
    assert_eq!(refused(path, &["l*"]), refused(path, &["l"]));
    assert!(refused(path, &[]).starts_with("no files are named"));
    assert!(refused(path, &["a[b"]).starts_with("a[b: not a pattern: "));
}

#[test]
fn an_empty_file_is_found() {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("empty"), "").expect("can be written");
    let files = resolve(&["empty".to_owned()], folder.path()).expect("there");
    assert_eq!(files[0].size_bytes, 0);
}
