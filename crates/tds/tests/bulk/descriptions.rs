//! Tests of servers' descriptions of columns: valid ones, and hostile ones, which cause an error.

use inrush_tds::{MetadataError, RowMetadata};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::batches::{CP1252, UTF8, any_batch, description};

fn parse(type_info: &[u8]) -> Result<String, MetadataError> {
    let bytes = description(&[(type_info.to_vec(), true)]);
    RowMetadata::parse(&bytes).map(|(target, _)| target.columns()[0].type_info.to_string())
}

#[test]
fn types_have_the_names_of_tsql() {
    let text = |token: u8, length: u16, collation: [u8; 5]| {
        [&[token], &length.to_le_bytes()[..], &collation].concat()
    };
    for (type_info, name) in [
        (vec![0x30], "tinyint"),
        (vec![0x26, 1], "tinyint"),
        (vec![0x7f], "bigint"),
        (vec![0x68, 1], "bit"),
        (vec![0x6d, 4], "real"),
        (vec![0x6d, 8], "float"),
        (vec![0x6a, 9, 15, 2], "decimal(15,2)"),
        (vec![0x6c, 17, 38, 0], "numeric(38,0)"),
        // Some servers name the longest bytes for any precision.
        (vec![0x6c, 17, 9, 0], "numeric(9,0)"),
        (vec![0x6e, 4], "smallmoney"),
        (vec![0x6f, 8], "datetime"),
        (vec![0x28], "date"),
        (vec![0x29, 7], "time(7)"),
        (vec![0x2a, 0], "datetime2(0)"),
        (vec![0x2b, 3], "datetimeoffset(3)"),
        (text(0xaf, 10, CP1252), "char(10)"),
        (text(0xa7, 8000, UTF8), "varchar(8000)"),
        (text(0xa7, 0xffff, UTF8), "varchar(max)"),
        (text(0xe7, 20, CP1252), "nvarchar(10)"),
        (text(0xef, 2, CP1252), "nchar(1)"),
        (vec![0xa5, 0xff, 0xff], "varbinary(max)"),
        (vec![0xad, 16, 0], "binary(16)"),
        (vec![0x24, 16], "uniqueidentifier"),
        (vec![0xf1, 0], "xml"),
        // A schema collection: database "d", schema "s", name "n".
        (vec![0xf1, 1, 1, b'd', 0, 1, b's', 0, 1, 0, b'n', 0], "xml"),
    ] {
        assert_eq!(parse(&type_info).as_deref(), Ok(name), "{type_info:x?}");
    }
}

#[test]
fn what_no_column_has_is_an_error() {
    for (type_info, message) in [
        (
            vec![0x26, 3],
            "column 1: the server describes an integer with 3 as its length",
        ),
        (vec![0x6d, 0], "float with 0 as its length"),
        (vec![0x29, 8], "a time with 8 as its scale"),
        (vec![0x6a, 9, 39, 0], "decimal with 39 as its precision"),
        (vec![0x6a, 9, 15, 16], "decimal with 16 as its scale"),
        (vec![0x6a, 5, 15, 2], "decimal with 5 as its length"),
        (vec![0x6a, 11, 15, 2], "decimal with 11 as its length"),
        (vec![0x6a, 18, 15, 2], "decimal with 18 as its length"),
        (vec![0xa5, 0, 0], "binary with 0 as its length"),
        (vec![0xad, 0xff, 0xff], "binary with 65535 as its length"),
        (
            [&[0xe7, 3, 0][..], &UTF8].concat(),
            "nvarchar with 3 as its length",
        ),
        (
            [&[0xaf, 0xff, 0xff][..], &UTF8].concat(),
            "varchar with 65535 as its length",
        ),
        (
            [&[0xa7, 0x41, 0x1f][..], &UTF8].concat(),
            "varchar with 8001 as its length",
        ),
        (
            vec![0x62, 0, 0, 0, 0],
            "column 1 is of the type sql_variant (0x62), which cannot be loaded",
        ),
        (vec![0x23, 0], "change its type to varchar(max)"),
        (vec![0xff], "column 1 is of the type unknown (0xff)"),
        (
            // Hindi.
            [&[0xa7, 10, 0][..], &[0x39, 0x04, 0xd0, 0x20, 0]].concat(),
            "column 1, \"c0\": its collation (locale 0x00439, sort order 0) has no code page",
        ),
    ] {
        let error = parse(&type_info).expect_err("no such column").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn what_is_no_description_is_an_error() {
    let parse = |bytes: &[u8]| RowMetadata::parse(bytes).expect_err("no description");
    assert_eq!(
        parse(&[0xfd, 0, 0]),
        MetadataError::NoDescription { found: 0xfd }
    );
    assert_eq!(
        parse(&[0x81, 0, 0]),
        MetadataError::ColumnCount { found: 0 }
    );
    assert_eq!(
        parse(&[0x81, 0xff, 0xff]),
        MetadataError::ColumnCount { found: 65_535 }
    );
    assert_eq!(
        parse(&[0x81, 1, 0x10]),
        MetadataError::ColumnCount { found: 4_097 }
    );
    let mut encrypted = description(&[(vec![0x38], false)]);
    encrypted[8] |= 0x08;
    assert!(matches!(
        parse(&encrypted),
        MetadataError::Encrypted { ordinal: 1, .. }
    ));
    let mut lone_surrogate = description(&[(vec![0x38], false)]);
    let end = lone_surrogate.len();
    lone_surrogate[end - 1] = 0xd8;
    assert_eq!(
        parse(&lone_surrogate),
        MetadataError::BadName { ordinal: 1 }
    );
    let whole = description(&[
        (vec![0x38], false),
        ([&[0xa7, 9, 0][..], &UTF8].concat(), true),
    ]);
    for end in 0..whole.len() {
        assert!(matches!(parse(&whole[..end]), MetadataError::Truncated { at, .. } if at == end));
    }
}

proptest! {
    /// Any bytes are read as a description or cause an error.
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200)) {
        let _ = RowMetadata::parse(&bytes);
        let _ = RowMetadata::parse(&[&[0x81, 3, 0], &bytes[..]].concat());
    }

    /// A description with a damaged byte is another description or an error, and never longer than its bytes.
    #[test]
    fn damaged_descriptions((target, _) in any_batch(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut encoder = inrush_tds::BulkEncoder::new(target, inrush_tds::PacketSize::MAX);
        let packets = crate::batches::message(&mut encoder, &[]).expect("no values");
        let mut bytes = crate::decoder::payload(&packets, 32_767);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok((target, length)) = RowMetadata::parse(&bytes) {
            prop_assert!(length <= bytes.len());
            prop_assert!(!target.columns().is_empty());
        }
    }
}
