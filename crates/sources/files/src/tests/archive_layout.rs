//! Tests of zip archives that contain more than their directory lists, or something other than what it lists.

use tempfile::tempdir;
use zip::CompressionMethod;

use super::archives::{archive, deflated, found, refused};
use super::*;

/// The first position of a signature.
fn place(bytes: &[u8], signature: &[u8]) -> usize {
    let mut windows = bytes.windows(signature.len());
    windows
        .position(|window| window == signature)
        .expect("there")
}

/// The error with which an archive of these bytes is refused.
fn refusal(bytes: &[u8]) -> String {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("a.zip"), bytes).expect("can be written");
    refused(folder.path(), "a.zip")
}

/// The rows of all members of an archive of these bytes.
fn all_rows(bytes: &[u8]) -> Vec<String> {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("a.zip"), bytes).expect("can be written");
    let files = super::super::resolve(&["a.zip".to_owned()], folder.path()).expect("files");
    let of =
        |file: SourceFile| rows(&read(&Arc::new(file), &Dialect::tbl(), 100).expect("readable"));
    files.into_iter().flat_map(of).collect()
}

#[test]
fn joined_archives_are_refused() {
    let one = deflated(&[("one.tbl", b"1|\n")]);
    let two = deflated(&[("two.tbl", b"2|\n")]);
    let at = one.len();
    assert_eq!(
        refusal(&[one.clone(), two.clone()].concat()),
        format!(
            "FOLDER/a.zip: the archive cannot be loaded completely: its directory lists only the members from byte \
             {at} on, but `one.tbl` begins before it, at byte 0: archives were joined here (cat a.zip b.zip); \
             load the archives one by one, before they are joined, or make one archive of all files"
        )
    );
    let large = archive(&[("one.tbl", b"1|\n", CompressionMethod::STORE)], true);
    for joined in [
        // Positions from the beginning of the whole file, as `zip -A` writes them, make no difference.
        [one.clone(), two.clone(), two.clone()].concat(),
        [large.clone(), two.clone()].concat(),
        [two.clone(), large].concat(),
        // The last archive is empty, so nothing would be loaded.
        [one.clone(), archive(&[], false)].concat(),
        // Members after a program in front are still found.
        [b"MZ program".to_vec(), one.clone(), two.clone()].concat(),
        [
            b"#!/bin/sh\n".to_vec(),
            vec![b'x'; 200_001],
            one.clone(),
            two.clone(),
        ]
        .concat(),
    ] {
        let text = refusal(&joined);
        assert!(text.contains("archives were joined here"), "{text}");
    }
    // The last archive is cut, so the first archive's directory is found.
    let text = refusal(&[&one[..], &two[..two.len() - 30]].concat());
    assert!(
        text.contains("another member, `two.tbl`, begins after the end of the archive"),
        "{text}"
    );
    // If an archive without members is in front, no row is lost.
    assert_eq!(
        all_rows(&[b"MZ".to_vec(), archive(&[], false), two].concat()),
        ["2"]
    );
}

#[test]
fn members_that_the_directory_does_not_count_are_refused() {
    let whole = deflated(&[("a", b"1|\n"), ("b", b"2|\n"), ("c", b"3|\n")]);
    let end = place(&whole, b"PK\x05\x06");
    for count in [1, 2] {
        let mut bytes = whole.clone();
        bytes[end + 8] = count;
        bytes[end + 10] = count;
        let text = refusal(&bytes);
        let expected = format!(
            "FOLDER/a.zip: the archive cannot be loaded completely: its directory lists more members than the {count} \
             that its end record counts; repair it with zip -FF"
        );
        assert!(
            text.starts_with(&expected) || text.contains("does not list the member"),
            "{text}"
        );
    }
    // The count is right, but one entry is removed from the directory.
    let first = place(&whole, b"PK\x01\x02");
    let entry_bytes = 46 + 1;
    let mut bytes = [
        &whole[..first + entry_bytes],
        &whole[first + 2 * entry_bytes..],
    ]
    .concat();
    let end = place(&bytes, b"PK\x05\x06");
    bytes[end + 8] = 2;
    bytes[end + 10] = 2;
    let size = (2 * entry_bytes) as u32;
    bytes[end + 12..end + 16].copy_from_slice(&size.to_le_bytes());
    let text = refusal(&bytes);
    assert!(
        text.contains("its directory does not list the member `b` at byte 3"),
        "{text}"
    );
}

#[test]
fn what_belongs_to_nothing_is_refused_but_padding_and_programs() {
    let whole = deflated(&[("a", b"1|\n")]);
    let end = whole.len();
    for front in [
        b"MZ\x90 program PK\x03\x04 and more of it, long enough for a header".to_vec(),
        b"\x7fELF".to_vec(),
        b"#!/bin/sh\nunzip $0\n".to_vec(),
        b"PK00".to_vec(),
        b"PK\x07\x08".to_vec(),
        vec![0; 70_000],
    ] {
        assert_eq!(
            all_rows(&[front.clone(), whole.clone()].concat()),
            ["1"],
            "{front:?}"
        );
    }
    assert_eq!(all_rows(&[whole.clone(), vec![0; 1000]].concat()), ["1"]);
    let text = refusal(&[b"0|\n", &whole[..]].concat());
    assert!(
        text.contains(
            "its 3 bytes from byte 0 on belong to no member that its directory lists; unzip it"
        ),
        "{text}"
    );
    let text = refusal(&[&whole[..], b"2|\n"].concat());
    assert!(
        text.contains(&format!(
            "3 bytes follow its end, at byte {end}, outside of any archive"
        )),
        "{text}"
    );
    // A comment belongs to the archive, whatever it contains.
    let mut commented = whole.clone();
    let comment =
        b"PK\x05\x06 is what an archive ends with, PK\x03\x04 a member begins with, and more";
    commented[end - 2] = comment.len() as u8;
    commented.extend(comment);
    assert_eq!(all_rows(&commented), ["1"]);
}

#[test]
fn bytes_that_are_listed_twice_or_otherwise_are_refused() {
    let whole = archive(
        &[
            ("a", b"1|\n2|\n", CompressionMethod::STORE),
            ("b", b"3|\n4|\n", CompressionMethod::STORE),
        ],
        false,
    );
    // The second entry points to the first member's bytes, so its rows would be loaded twice.
    let first = place(&whole, b"PK\x01\x02");
    let second = first + 46 + 1;
    let mut bytes = whole.clone();
    bytes[second + 42..second + 46].fill(0);
    assert!(refusal(&bytes).contains("its members `a` and `b` share bytes"));
    // A member's own header and the directory differ: a checksum, a size.
    for (at, what) in [(14, "checksum"), (18, "stored bytes"), (22, "bytes")] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let text = refusal(&bytes);
        assert!(
            text.contains(&format!(
                "its member `a` has other {what} in its own header"
            )),
            "{text}"
        );
    }
    // A member with the name of a folder and rows in it.
    let mut named = archive(&[("ab", b"1|\n", CompressionMethod::STORE)], false);
    let central = place(&named, b"PK\x01\x02");
    named[31] = b'/';
    named[central + 47] = b'/';
    let text = refusal(&named);
    assert!(
        text.contains("its member `a/` has the name of a folder, but holds 3 bytes"),
        "{text}"
    );
}

#[test]
fn a_part_of_a_split_archive_says_so() {
    let mut bytes = deflated(&[("a", b"1|\n")]);
    let end = place(&bytes, b"PK\x05\x06");
    bytes[end + 4] = 2;
    bytes[end + 6] = 2;
    let text = refusal(&bytes);
    assert!(text.contains("it is one part of a split archive"), "{text}");
    assert!(text.contains("zip -s 0"), "{text}");
}

#[test]
fn sizes_behind_the_bytes_are_the_members_own() {
    // An archive that was written to a pipe: sizes and checksum follow the bytes, in one of four forms.
    let text = b"1|\n2|\n";
    let whole = archive(
        &[
            ("a", text, CompressionMethod::STORE),
            ("b", text, CompressionMethod::STORE),
        ],
        false,
    );
    let crc = whole[14..18].to_vec();
    for (signature, width) in [(true, 4), (false, 4), (true, 8), (false, 8)] {
        let mut descriptor = Vec::new();
        if signature {
            descriptor.extend(b"PK\x07\x08");
        }
        descriptor.extend(&crc);
        for _ in 0..2 {
            descriptor.extend(&(text.len() as u64).to_le_bytes()[..width]);
        }
        let member_bytes = 30 + 1 + text.len();
        let mut local = whole[..member_bytes].to_vec();
        local[6] |= 8;
        local[14..26].fill(0);
        let second = whole[member_bytes..2 * member_bytes].to_vec();
        let mut rest = whole[2 * member_bytes..].to_vec();
        let shift = descriptor.len() as u32;
        rest[8] |= 8;
        let second_start = member_bytes as u32 + shift;
        rest[47 + 42..47 + 46].copy_from_slice(&second_start.to_le_bytes());
        let end = place(&rest, b"PK\x05\x06");
        let directory = 2 * member_bytes as u32 + shift;
        rest[end + 16..end + 20].copy_from_slice(&directory.to_le_bytes());
        let bytes = [local, descriptor, second, rest].concat();
        assert_eq!(
            all_rows(&bytes),
            ["1", "2", "1", "2"],
            "{signature} {width}"
        );
    }
}

#[test]
fn archives_in_archives_say_what_to_do() {
    let folder = tempdir().expect("a folder");
    let inner = deflated(&[("a", b"1|\n")]);
    let outer = archive(&[("inner.zip", &inner, CompressionMethod::STORE)], false);
    fs::write(folder.path().join("a.zip"), outer).expect("can be written");
    assert_eq!(found(folder.path(), "a.zip"), ["a.zip/inner.zip"]);
    let file = super::super::resolve(&["a.zip".to_owned()], folder.path())
        .expect("files")
        .remove(0);
    let error = read(&Arc::new(file), &Dialect::tbl(), 100).expect_err("no text");
    assert_eq!(
        message(error, folder.path()),
        "FOLDER/a.zip/inner.zip: expected text, but the file begins like zip (or an Excel \
         workbook); unzip the outer archive and load the file; its name shows its compression"
    );
}
