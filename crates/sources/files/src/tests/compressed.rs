//! Tests of compressed files: they have the same rows, and damage is reported with its place.

use std::io::Write;

use inrush_rows::compression::Compression;
use tempfile::tempdir;

use super::super::{ResolveOptions, resolve_as};
use super::*;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    // The checksum is added, as by the command-line tool.
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
    encoder.include_checksum(true).expect("memory");
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("memory");
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn text() -> Vec<u8> {
    let rows: Vec<_> = (0..2000)
        .map(|row| format!("{row}|name {}|\n", row * 7919 % 997))
        .collect();
    rows.concat().into_bytes()
}

#[test]
fn compressed_files_have_the_same_rows() {
    let folder = tempdir().expect("a folder");
    let text = text();
    let (first, second) = text.split_at(9001);
    let plain = write(folder.path(), "file.tbl", &text);
    let expected = read(&plain, &Dialect::tbl(), 1 << 20).expect("readable");
    let skippable = [b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zstd(&text)].concat();
    for (name, bytes) in [
        ("one.tbl.gz", gzip(&text)),
        ("one.tbl.zst", zstd(&text)),
        ("two.tbl.GZ", [gzip(first), gzip(second)].concat()),
        ("two.tbl.zstd", [zstd(first), zstd(second)].concat()),
        (
            "empty_member.gz",
            [gzip(b""), gzip(&text), gzip(b"")].concat(),
        ),
        (
            "empty_frame.zst",
            [zstd(b""), zstd(&text), zstd(b"")].concat(),
        ),
        ("skippable.zst", skippable),
        ("padded.gz", [gzip(&text), vec![0; 300_000]].concat()),
        (
            "padded_by_one.gz",
            [gzip(first), gzip(second), vec![0]].concat(),
        ),
        ("one.tbl.bz2", bzip2(&text)),
        ("two.tbl.bz2", [bzip2(first), bzip2(second)].concat()),
        (
            "empty_stream.bz2",
            [bzip2(b""), bzip2(&text), bzip2(b"")].concat(),
        ),
        ("one.tbl.xz", xz(&text)),
        ("two.tbl.xz", [xz(first), xz(second)].concat()),
        ("empty_stream.xz", [xz(b""), xz(&text), xz(b"")].concat()),
        (
            "padded.xz",
            [xz(first), vec![0; 8], xz(second), vec![0; 4]].concat(),
        ),
    ] {
        let file = write(folder.path(), name, &bytes);
        for chunk_bytes in [1, 13, 1000, 1 << 20] {
            let (found, meter) =
                read_metered(&file, &Dialect::tbl(), chunk_bytes).expect("readable");
            assert_eq!(found, expected, "{name}");
            assert_eq!(meter.text_bytes, text.len() as u64);
            assert_eq!(meter.stored_bytes, bytes.len() as u64);
            assert!(meter.decompress_ns > 0);
        }
    }
}

/// Decompressors take a block or a buffer of the file, and return its text bit by bit.
#[test]
fn a_part_of_a_file_tells_how_much_text_all_of_it_has() {
    let folder = tempdir().expect("a folder");
    // All parts of the text compress equally well: the output of SplitMix64 has no pattern.
    let mixed = |row: u64| {
        let row = (row ^ (row >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let row = (row ^ (row >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        row ^ (row >> 31)
    };
    let row = |row: u64| {
        let seed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{row:08}|{:016x}|\n", mixed(seed))
    };
    let text = (0..200_000).map(row).collect::<String>();
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let text = text.into_bytes();
    for (name, text, bytes) in [
        ("a.tbl", &text, text.clone()),
        ("a.tbl.gz", &text, gzip(&text)),
        ("a.tbl.zst", &text, zstd(&text)),
        ("a.tbl.bz2", &text, bzip2(&text)),
        ("a.tbl.xz", &text, xz(&text)),
        ("utf16.tbl.gz", &utf16, gzip(&utf16)),
    ] {
        let file = write(folder.path(), name, &bytes);
        let open = || {
            let split = Split::whole(Arc::clone(&file));
            TextReader::open(split, &Dialect::tbl(), 256 << 10, BufferPool::default())
                .expect("it is there")
        };
        let mut records = Records::default();
        let text_of_stored = text.len() as f64 / bytes.len() as f64;

        let mut reader = open();
        for _ in 0..4 {
            let chunk = reader.next_chunk(&mut records).expect("readable");
            reader.recycle(chunk.expect("more"));
        }
        let given = reader.position().byte_offset;
        let meter = reader.meter_of_chunks();
        assert_eq!(meter.text_bytes, given, "{name}");
        let found = given as f64 / meter.stored_bytes as f64;
        let error = (found / text_of_stored - 1.0).abs();
        assert!(error < 0.03, "{name}: {found} and not {text_of_stored}");

        let mut reader = open();
        while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
            reader.recycle(chunk);
        }
        let whole = reader.meter();
        assert_eq!(reader.meter_of_chunks(), whole, "{name}");
        assert_eq!(whole.stored_bytes, bytes.len() as u64);
    }
}

#[test]
fn a_compressed_empty_text_has_no_rows() {
    let folder = tempdir().expect("a folder");
    for (name, bytes) in [
        ("a.gz", gzip(b"")),
        ("a.zst", zstd(b"")),
        ("a.bz2", bzip2(b"")),
        ("a.xz", xz(b"")),
    ] {
        let file = write(folder.path(), name, bytes);
        let found = read(&file, &Dialect::csv(), 100).expect("readable");
        assert_eq!(found, Read::default());
    }
}

#[test]
fn every_truncation_is_found() {
    let folder = tempdir().expect("a folder");
    let text = &text()[..500];
    for (name, bytes) in [
        ("a.gz", gzip(text)),
        ("a.zst", zstd(text)),
        ("a.bz2", bzip2(text)),
        ("a.xz", xz(text)),
    ] {
        for kept in 0..bytes.len() {
            // Each has its own name, because overwriting a file waits for the disk.
            let file = write(folder.path(), &format!("{kept}.{name}"), &bytes[..kept]);
            let error = read(&file, &Dialect::tbl(), 1000).expect_err("truncated");
            let is_told = match &error {
                SourceError::Truncated {
                    compressed_offset,
                    text_offset,
                    ..
                } => *compressed_offset <= kept as u64 && *text_offset <= text.len() as u64,
                _ => false,
            };
            assert!(is_told, "{name} cut to {kept} bytes: {error}");
        }
    }
}

#[test]
fn a_truncated_second_member_is_found() {
    let folder = tempdir().expect("a folder");
    let text = text();
    for (name, one) in [
        ("a.gz", gzip(&text)),
        ("a.zst", zstd(&text)),
        ("a.bz2", bzip2(&text)),
        ("a.xz", xz(&text)),
    ] {
        for extra in [1, 5, one.len() / 2, one.len() - 1] {
            let bytes = [&one, &one[..extra]].concat();
            let file = write(folder.path(), name, bytes);
            let error = read(&file, &Dialect::tbl(), 1 << 20).expect_err("truncated");
            assert!(
                matches!(error, SourceError::Truncated { .. }),
                "{name} {extra}: {error}"
            );
        }
    }
}

#[test]
fn damage_is_found() {
    let folder = tempdir().expect("a folder");
    let text = text();
    for (name, whole) in [
        ("a.gz", gzip(&text)),
        ("a.zst", zstd(&text)),
        ("a.bz2", bzip2(&text)),
        ("a.xz", xz(&text)),
    ] {
        // The checksum at the end of gzip is damaged, then the middle of both files; then data follows the end.
        let mut middle = whole.clone();
        let at = whole.len() / 2;
        middle[at..at + 8].iter_mut().for_each(|byte| *byte ^= 0xff);
        let mut cases = vec![middle, [whole.as_slice(), b"garbage behind"].concat()];
        if name == "a.gz" {
            let mut checksum = whole.clone();
            checksum[whole.len() - 6] ^= 1;
            cases.push(checksum);
        }
        for bytes in cases {
            let file = write(folder.path(), name, bytes);
            let error = read(&file, &Dialect::tbl(), 1 << 20).expect_err("damaged");
            assert!(
                matches!(
                    error,
                    SourceError::Corrupt { .. }
                        | SourceError::Truncated { .. }
                        | SourceError::Trailing { .. }
                ),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn a_truncation_is_told_in_full() {
    let folder = tempdir().expect("a folder");
    let bytes = gzip(&text());
    let file = write(folder.path(), "a.gz", &bytes[..bytes.len() - 8]);
    let error = read(&file, &Dialect::tbl(), 1 << 20).expect_err("truncated");
    assert_eq!(
        message(error, folder.path()),
        format!(
            "FOLDER/a.gz: the gzip stream ends too early, after {} bytes compressed \
             ({} uncompressed); the file was likely not written or copied completely: make it \
             again, and test it with gzip -t",
            bytes.len() - 8,
            text().len()
        )
    );
}

#[test]
fn what_follows_gzip_data_is_told_with_its_place() {
    let folder = tempdir().expect("a folder");
    let text = text();
    let member = gzip(&text);
    let garbage = member.len();
    // gzip itself ignores a member after zeros, and garbage, with a warning.
    for (behind, at, byte) in [
        (b"garbage".to_vec(), garbage, "0x67"),
        (b"\0\0\0x".to_vec(), garbage + 3, "0x78"),
        (
            [vec![0; 512], member.clone()].concat(),
            garbage + 512,
            "0x1f",
        ),
    ] {
        let file = write(folder.path(), "a.gz", [member.clone(), behind].concat());
        let error = read(&file, &Dialect::tbl(), 1 << 20).expect_err("refused");
        assert_eq!(
            message(error, folder.path()),
            format!(
                "FOLDER/a.gz: the gzip data end at byte {at} compressed ({} uncompressed), and \
                 the byte {byte}, which is neither another gzip member nor zero padding, follows; rows may be lost there: make or copy the file again, or cut it \
                 there if the rest does not belong to it (head -c {at})",
                text.len()
            )
        );
    }
}

/// Padding is normal for gzip files on tapes, and part of the xz format. After other files, zeros are damage or another
/// file, and rows may be lost.
#[test]
fn zeros_behind_bzip2_and_zstd_are_refused() {
    let folder = tempdir().expect("a folder");
    let text = text();
    for (name, data) in [("a.bz2", bzip2(&text)), ("a.zst", zstd(&text))] {
        let file = write(folder.path(), name, [data, vec![0; 512]].concat());
        let error = read(&file, &Dialect::tbl(), 1 << 20).expect_err("refused");
        let told = message(error, folder.path());
        assert!(told.starts_with(&format!("FOLDER/{name}: ")), "{told}");
        assert!(
            told.contains(&format!("{} uncompressed", text.len())),
            "{told}"
        );
    }
}

#[test]
fn a_wrong_name_is_told_from_damage() {
    let folder = tempdir().expect("a folder");
    for (name, bytes, expected) in [
        (
            "a.gz",
            b"1|a|\n".to_vec(),
            "FOLDER/a.gz: expected gzip, but the file begins like plain text; rename it, or declare \
          it: format.compression = \"none\"",
        ),
        (
            "a.gz",
            zstd(b"1|a|\n"),
            "FOLDER/a.gz: expected gzip, but the file begins like zstd; declare it: \
          format.compression = \"zstd\"",
        ),
        (
            "a.zst",
            gzip(b"1|a|\n"),
            "FOLDER/a.zst: expected zstd, but the file begins like gzip; declare it: \
          format.compression = \"gzip\"",
        ),
        (
            "a.xz",
            bzip2(b"1|a|\n"),
            "FOLDER/a.xz: expected xz, but the file begins like bzip2; declare it: \
          format.compression = \"bzip2\"",
        ),
        (
            "a.gz",
            b"\x78\x9c\x33\xac\x49\xac\xe1\x02\0".to_vec(),
            "FOLDER/a.gz: expected gzip, but the file begins like zlib, which is gzip without its header; make it again \
             as text, gzip, zstd, bzip2 or xz",
        ),
        (
            "a.xz",
            b"\x5d\0\0\x80\0\xff\xff\xff\xff".to_vec(),
            "FOLDER/a.xz: expected xz, but the file begins like raw LZMA (.lzma); make it again as text, gzip, zstd, \
             bzip2 or xz",
        ),
        (
            "a.xz",
            b"a\x01\x02\x03\x04\x05\x06\x07".to_vec(),
            "FOLDER/a.xz: expected xz, but the file begins like neither text nor a compression that Inrush knows; make \
             it again as text, gzip, zstd, bzip2 or xz",
        ),
        (
            "a.bz2",
            xz(b"1|a|\n"),
            "FOLDER/a.bz2: expected bzip2, but the file begins like xz; declare it: \
          format.compression = \"xz\"",
        ),
    ] {
        let file = write(folder.path(), name, bytes);
        let error = read(&file, &Dialect::tbl(), 100).expect_err("refused");
        assert_eq!(message(error, folder.path()), expected);
    }
}

#[test]
fn a_declared_compression_outweighs_the_name() {
    let folder = tempdir().expect("a folder");
    write(folder.path(), "a.tbl", gzip(b"1|a|\n"));
    write(folder.path(), "b.gz", "1|a|\n");
    for (name, compression) in [("a.tbl", Compression::Gzip), ("b.gz", Compression::None)] {
        let options = ResolveOptions {
            compression: Some(compression),
            ..ResolveOptions::default()
        };
        let files = resolve_as(&[name.to_owned()], folder.path(), &options);
        let file = Arc::new(files.expect("there")[0].clone());
        let found = read(&file, &Dialect::tbl(), 100).expect("readable");
        assert_eq!(rows(&found), ["1·a"]);
    }
}
