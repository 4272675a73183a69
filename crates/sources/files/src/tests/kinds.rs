//! Tests of files that are not text, and of compressed files that need too much memory: each message says what the file
//! is.

use std::io::Write;

use tempfile::tempdir;

use super::*;

/// A tar archive of one file, as GNU tar writes it (`ustar`), or in the older format.
pub(super) fn tar(name: &str, text: &[u8], is_old: bool) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", text.len()).as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].copy_from_slice(b"        ");
    if !is_old {
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header;
    archive.extend(text);
    archive.resize(archive.len().div_ceil(512) * 512 + 1024, 0);
    archive
}

fn compressed(name: &str, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if name.ends_with("gz") {
        let mut encoder = flate2::write::GzEncoder::new(bytes, flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        return encoder.finish().expect("memory");
    } else if name.ends_with("bz2") {
        let mut encoder = bzip2::write::BzEncoder::new(bytes, bzip2::Compression::fast());
        encoder.write_all(text).expect("memory");
        return encoder.finish().expect("memory");
    } else if name.ends_with("zst") {
        return zstd::encode_all(text, 1).expect("memory");
    }
    bytes.extend(text);
    bytes
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), name, bytes);
    let error = read(&file, &Dialect::csv(), 1 << 16).expect_err("refused");
    message(error, folder.path())
}

#[test]
fn tar_archives_say_what_they_are() {
    for is_old in [false, true] {
        for name in [
            "a.tar",
            "a.csv",
            "a.tar.gz",
            "a.tgz",
            "a.tar.bz2",
            "a.tbz2",
            "a.tar.zst",
            "a.tzst",
        ] {
            let bytes = compressed(name, &tar("rows.csv", b"a,b\n1,2\n", is_old));
            assert_eq!(
                refusal(name, &bytes),
                format!(
                    "FOLDER/{name}: expected text, but the file begins like a tar archive; unpack it \
                     (tar -xf FILE) and load the files in it"
                )
            );
        }
    }
}

#[test]
fn other_kinds_say_what_they_are() {
    let mut cpio = b"070701".to_vec();
    cpio.extend([b'0'; 104]);
    cpio.extend(b"rows.csv\0");
    for (bytes, kind) in [
        (b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "a 7z archive"),
        (b"Rar!\x1a\x07\x01\0".to_vec(), "a RAR archive"),
        (cpio, "a cpio archive"),
        (b"%PDF-1.7\n%\xb5\xb5".to_vec(), "a PDF document"),
        (b"SQLite format 3\0\x10\0".to_vec(), "an SQLite database"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0".to_vec(),
            "an old Excel or Word file (.xls, .doc)",
        ),
        (
            b"12345678DUCK\x40\0\0\0\0\0\0\0".to_vec(),
            "a DuckDB database",
        ),
        (b"ORC\x11\0\0\x0a\x06".to_vec(), "ORC"),
        (b"\x7fELF\x02\x01\x01\0".to_vec(), "a program (ELF)"),
        (b"\x5d\0\0\x80\0\xff\xff".to_vec(), "raw LZMA (.lzma)"),
        (b"Obj\x01\x04\x14avro.codec".to_vec(), "Avro"),
        (b"\x1f\x9d\x90a,b".to_vec(), "compress (.Z)"),
        (b"\x04\x22\x4d\x18\x64\x40".to_vec(), "lz4"),
        (b"LZIP\x01\x0c".to_vec(), "lzip"),
        (
            b"PK\x07\x08PK\x03\x04".to_vec(),
            "a part of a split zip archive",
        ),
        (
            b"PARE\x2a\0\0\0\x01\x02\x03\x04".to_vec(),
            "encrypted Parquet",
        ),
    ] {
        let text = refusal("a.csv", &bytes);
        let expected = format!("FOLDER/a.csv: expected text, but the file begins like {kind}; ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn texts_that_begin_alike_are_texts() {
    let folder = tempdir().expect("a folder");
    for text in [
        "PARE\nx\ny\nz\nlong enough\n",
        "DONALD, DUCK\n1,2\n1,2\n",
        "070701,2\n070702,3\n",
        "Obj,1\n",
        "ORC,1\n",
        "],1\n",
        "LZIP,1\n",
        "PDF-1.7\n",
        "Rar!,1\n",
        "7z,1\n",
        "SQLite format 3\n",
    ] {
        let file = write(folder.path(), "a.csv", text);
        let dialect = Dialect {
            header: false,
            ..Dialect::csv()
        };
        let found = read(&file, &dialect, 1 << 16).expect("a text");
        assert_eq!(found.records.len(), text.lines().count(), "{text}");
    }
    // A text that is long enough for the header of a tar archive.
    let file = write(folder.path(), "b.csv", "x".repeat(1000));
    assert!(read(&file, &Dialect::csv(), 1 << 16).is_ok());
}

fn zstd_frame(text: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.window_log(window_log).expect("a window");
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn long_windows_are_read_up_to_a_bound() {
    let folder = tempdir().expect("a folder");
    let rows = b"a,b\n1,2\n";
    for window_log in [24, 27, 28, 29] {
        let file = write(folder.path(), "a.csv.zst", zstd_frame(rows, window_log));
        assert_eq!(
            read(&file, &Dialect::csv(), 1 << 16)
                .expect("readable")
                .records
                .len(),
            1
        );
        assert_eq!(file.decoder_bytes(), (1 << window_log) + (4 << 20));
    }
    for window_log in [30, 31] {
        let long = zstd_frame(rows, window_log);
        assert_eq!(
            refusal("a.csv.zst", &long),
            format!(
                "FOLDER/a.csv.zst: the file needs a zstd window of {} MiB, and Inrush allows at most 512 MiB; \
                 compress it again with a shorter window: zstd -dc --long=31 FILE | zstd --long=29 \
                 -o NEW.zst",
                1_u64 << (window_log - 20)
            )
        );
        let text = refusal("a.csv.zst", &[zstd_frame(rows, 20), long].concat());
        assert!(
            text.contains("needs a longer zstd window in its later part"),
            "{text}"
        );
    }
}

#[test]
fn a_dictionary_is_asked_for_by_its_id() {
    // The header of a frame with a dictionary whose id is 7.
    let mut frame = zstd_frame(b"a,b\n1,2\n", 20);
    frame[4] |= 1;
    frame.insert(6, 7);
    assert_eq!(
        refusal("a.csv.zst", &frame),
        "FOLDER/a.csv.zst: the file was compressed with a zstd dictionary (its id is 7); decompress it first: \
         zstd -d -D DICTIONARY FILE"
    );
    let text = refusal(
        "a.csv.zst",
        &[zstd_frame(b"a,b\n1,2\n", 20), frame].concat(),
    );
    assert!(
        text.contains("was compressed with a zstd dictionary in its later part"),
        "{text}"
    );
}
