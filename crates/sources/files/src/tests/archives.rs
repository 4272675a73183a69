//! Zip archives: each member is a file.

use std::io::{Cursor, Write};

use inrush_rows::compression::Compression;
use tempfile::tempdir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::{ResolveOptions, resolve, resolve_as};
use super::*;

pub(super) fn archive(members: &[(&str, &[u8], CompressionMethod)], large: bool) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text, method) in members {
        let options = SimpleFileOptions::default()
            .compression_method(*method)
            .large_file(large);
        if name.ends_with('/') {
            writer.add_directory(*name, options).expect("memory");
        } else {
            writer.start_file(*name, options).expect("memory");
            writer.write_all(text).expect("memory");
        }
    }
    writer.finish().expect("memory").into_inner()
}

pub(super) fn deflated<'a>(members: &[(&'a str, &'a [u8])]) -> Vec<u8> {
    let with = |(name, text): &(&'a str, &'a [u8])| (*name, *text, CompressionMethod::DEFLATE);
    archive(&members.iter().map(with).collect::<Vec<_>>(), false)
}

fn text() -> Vec<u8> {
    let rows: Vec<_> = (0..2000)
        .map(|row| format!("{row}|name {}|\n", row * 7919 % 997))
        .collect();
    rows.concat().into_bytes()
}

pub(super) fn found(folder: &Path, pattern: &str) -> Vec<String> {
    let files = resolve(&[pattern.to_owned()], folder).expect("files");
    let name = |file: &SourceFile| {
        let path = file.path.strip_prefix(folder).expect("in the folder");
        path.to_string_lossy().into_owned()
    };
    files.iter().map(name).collect()
}

pub(super) fn refused(folder: &Path, pattern: &str) -> String {
    message(
        resolve(&[pattern.to_owned()], folder).expect_err("refused"),
        folder,
    )
}

#[test]
fn members_of_every_method_have_the_same_rows() {
    let folder = tempdir().expect("a folder");
    let text = text();
    let plain = write(folder.path(), "plain.tbl", &text);
    let expected = read(&plain, &Dialect::tbl(), 1 << 20).expect("readable");
    for large in [false, true] {
        let bytes = archive(
            &[
                ("stored.tbl", &text, CompressionMethod::STORE),
                ("deflate.tbl", &text, CompressionMethod::DEFLATE),
                ("bzip2.tbl", &text, CompressionMethod::BZIP2),
                ("zstd.tbl", &text, CompressionMethod::ZSTD),
                ("xz.tbl", &text, CompressionMethod::XZ),
            ],
            large,
        );
        fs::write(folder.path().join("a.zip"), bytes).expect("can be written");
        let files = resolve(&["a.zip".to_owned()], folder.path()).expect("files");
        assert_eq!(files.len(), 5);
        for file in files {
            assert_eq!(file.compression, Compression::Zip);
            assert!(!file.reads_in_ranges().expect("readable"));
            for chunk_bytes in [13, 1 << 20] {
                let found = read(&Arc::new(file.clone()), &Dialect::tbl(), chunk_bytes);
                assert_eq!(
                    found.expect("readable"),
                    expected,
                    "{}",
                    file.path.display()
                );
            }
        }
    }
}

#[test]
fn patterns_choose_members() {
    let folder = tempdir().expect("a folder");
    let path = folder.path();
    let bytes = deflated(&[
        ("part10.csv", b"1\n"),
        ("part2.csv", b"1\n"),
        ("sub/", b""),
        ("sub/part3.csv", b"1\n"),
        ("__MACOSX/._part2.csv", b"1\n"),
        ("sub/.DS_Store", b"1\n"),
        ("a[1].csv", b"1\n"),
    ]);
    fs::write(path.join("orders.zip"), &bytes).expect("can be written");
    fs::write(path.join("more.ZIP"), deflated(&[("part1.csv", b"1\n")])).expect("can be written");
    fs::create_dir(path.join("folder.zip")).expect("can be made");
    fs::write(path.join("folder.zip/part1.csv"), "1\n").expect("can be written");
    assert_eq!(
        found(path, "orders.zip"),
        [
            "orders.zip/a[1].csv",
            "orders.zip/part2.csv",
            "orders.zip/part10.csv",
            "orders.zip/sub/part3.csv"
        ]
    );
    assert_eq!(
        found(path, "orders.zip/part*.csv"),
        ["orders.zip/part2.csv", "orders.zip/part10.csv"]
    );
    assert_eq!(
        found(path, "orders.zip/**/part3.csv"),
        ["orders.zip/sub/part3.csv"]
    );
    assert_eq!(
        found(path, "orders.zip/sub/*"),
        ["orders.zip/sub/part3.csv"]
    );
    assert_eq!(found(path, "orders.zip/a[1].csv"), ["orders.zip/a[1].csv"]);
    assert_eq!(
        found(path, "*.zip/part[12].csv"),
        ["folder.zip/part1.csv", "orders.zip/part2.csv"]
    );
    assert_eq!(found(path, "more.ZIP/*"), ["more.ZIP/part1.csv"]);
    assert_eq!(found(path, "folder.zip/*"), ["folder.zip/part1.csv"]);
    assert_eq!(
        refused(path, "orders.zip/x*.csv"),
        "FOLDER/orders.zip/x*.csv: no file matches; the archive has part10.csv, part2.csv, \
         sub/part3.csv and 1 more"
    );
    let twice = ["orders.zip/part2.csv", "orders.zip"].map(str::to_owned);
    assert_eq!(resolve(&twice, path).expect("files").len(), 4, "taken once");
    // A declared compression takes precedence over the name.
    let options = ResolveOptions {
        compression: Some(Compression::Zip),
        ..ResolveOptions::default()
    };
    fs::write(path.join("data"), &bytes).expect("can be written");
    let files = resolve_as(&["data".to_owned()], path, &options).expect("files");
    assert_eq!(files.len(), 4);
}

#[test]
fn a_member_is_known_by_its_archive_name_and_text() {
    let folder = tempdir().expect("a folder");
    let identity = |bytes: Vec<u8>| {
        fs::write(folder.path().join("a.zip"), bytes).expect("can be written");
        let files = resolve(&["a.zip".to_owned()], folder.path()).expect("files");
        files[0].identity()
    };
    let first = identity(deflated(&[("a", b"1\n")]));
    assert_eq!(first, identity(deflated(&[("a", b"1\n")])));
    assert_ne!(first, identity(deflated(&[("a", b"2\n")])));
    assert_ne!(first, identity(deflated(&[("b", b"1\n")])));
}

#[test]
fn damage_is_found() {
    let folder = tempdir().expect("a folder");
    let text = text();
    for method in [CompressionMethod::STORE, CompressionMethod::DEFLATE] {
        let whole = archive(&[("a", &text, method)], false);
        // Damage in the middle of the member's text.
        let mut bytes = whole.clone();
        bytes[200] ^= 1;
        fs::write(folder.path().join("a.zip"), &bytes).expect("can be written");
        let file = resolve(&["a.zip".to_owned()], folder.path())
            .expect("files")
            .remove(0);
        let error = read(&Arc::new(file), &Dialect::tbl(), 1000).expect_err("damaged");
        assert!(
            matches!(
                error,
                SourceError::Corrupt { .. } | SourceError::Truncated { .. }
            ),
            "{error}"
        );
        // An archive without its directory.
        for kept in [0, 3, whole.len() / 2, whole.len() - 1] {
            fs::write(folder.path().join("a.zip"), &whole[..kept]).expect("can be written");
            let text = refused(folder.path(), "a.zip");
            assert!(
                text.starts_with("FOLDER/a.zip: the zip archive cannot be read"),
                "{text}"
            );
        }
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_reason() {
    let folder = tempdir().expect("a folder");
    let bytes = archive(&[("a", b"1\n", CompressionMethod::STORE)], false);
    let local = 0;
    let central = bytes
        .windows(4)
        .position(|four| four == b"PK\x01\x02")
        .expect("there");
    for (change, expected) in [
        ((6, 8, 1), "the member is encrypted, which is not read"),
        (
            (8, 10, 9),
            "the member is compressed by Deflate64, which is not read",
        ),
        (
            (8, 10, 14),
            "the member is compressed by LZMA, which is not read",
        ),
    ] {
        let (in_local, in_central, value) = change;
        let mut bytes = bytes.clone();
        bytes[local + in_local] = value;
        bytes[central + in_central] = value;
        fs::write(folder.path().join("a.zip"), &bytes).expect("can be written");
        let text = refused(folder.path(), "a.zip");
        assert!(
            text.starts_with(&format!("FOLDER/a.zip/a: {expected}")),
            "{text}"
        );
    }
    fs::write(folder.path().join("a.zip"), archive(&[], false)).expect("can be written");
    assert_eq!(
        refused(folder.path(), "a.zip"),
        "FOLDER/a.zip: no file matches; the archive has no files"
    );
}

#[test]
fn a_changed_archive_is_found() {
    let folder = tempdir().expect("a folder");
    let path = folder.path().join("a.zip");
    fs::write(&path, deflated(&[("a", b"1\n")])).expect("can be written");
    let file = resolve(&["a.zip".to_owned()], folder.path())
        .expect("files")
        .remove(0);
    fs::write(&path, deflated(&[("a", b"1\n2\n")])).expect("can be written");
    let error = read(&Arc::new(file), &Dialect::tbl(), 100).expect_err("changed");
    assert!(matches!(error, SourceError::Changed { .. }), "{error}");
}
