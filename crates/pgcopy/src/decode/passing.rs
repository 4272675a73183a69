//! Passes rows on without decoding them: only finds where they begin and end.

use super::decoder::BinaryDecoder;
use super::error::DecodeError;
use super::fields::{At, row_at};

/// The outcome of passing on some bytes of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Whole rows.
    pub row_count: u64,
    /// Bytes that were consumed: the stream's header, its rows, its end.
    pub used: usize,
    /// True if the remaining bytes are not a whole row, so that more bytes are needed.
    pub is_short: bool,
}

impl BinaryDecoder {
    /// Appends the whole rows of the next bytes of the stream to `block`, in the form of binary COPY, until it has at
    /// least `until` bytes. The first `left_out` fields of each row are left out. The bytes of values are not examined:
    /// the server that receives them checks them. Call it again with the bytes after those that were used.
    pub fn pass(
        &mut self,
        bytes: &[u8],
        left_out: usize,
        until: usize,
        block: &mut Vec<u8>,
    ) -> Result<Passed, DecodeError> {
        let mut passed = Passed::default();
        let Some(start) = self.begin(bytes)? else {
            passed.is_short = true;
            return Ok(passed);
        };
        passed.used = start;
        let columns = self.types.len();
        let kept = (columns.saturating_sub(left_out) as i16).to_be_bytes();
        while block.len() < until {
            let at = passed.used;
            self.refuse_after_end(bytes.len() - at)?;
            let (mut fields, mut kept_from) = (0, at + 2);
            let found = row_at(bytes, at, columns, self.row_count + 1, |start| {
                if fields == left_out {
                    kept_from = start;
                }
                fields += 1;
            })?;
            match found {
                At::Row { end } => {
                    if columns == left_out {
                        kept_from = end;
                    }
                    block.extend_from_slice(&kept);
                    block.extend_from_slice(&bytes[kept_from..end]);
                    self.row_count += 1;
                    passed.row_count += 1;
                    passed.used = end;
                }
                At::Trailer => {
                    self.is_at_end = true;
                    passed.used = at + 2;
                }
                At::Short => {
                    passed.is_short = true;
                    break;
                }
            }
        }
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodedType, PgType};

    /// A stream of rows, each of a key and some values.
    fn stream(rows: &[(&str, &[Option<&[u8]>])]) -> (Vec<u8>, Vec<u8>) {
        let mut stream = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        let mut kept = Vec::new();
        for (key, values) in rows {
            let count = values.len() as i16;
            stream.extend((count + 1).to_be_bytes());
            stream.extend((key.len() as i32).to_be_bytes());
            stream.extend(key.as_bytes());
            let mut fields = Vec::new();
            for value in *values {
                let length = value.map_or(-1, |value| value.len() as i32);
                fields.extend(length.to_be_bytes());
                fields.extend_from_slice(value.unwrap_or_default());
            }
            stream.extend_from_slice(&fields);
            kept.extend(count.to_be_bytes());
            kept.extend(fields);
        }
        stream.extend((-1_i16).to_be_bytes());
        (stream, kept)
    }

    fn decoder() -> BinaryDecoder {
        let text = DecodedType::Value(PgType::Text);
        BinaryDecoder::new(vec![text; 3]).expect("three columns")
    }

    const ROWS: [(&str, &[Option<&[u8]>]); 4] = [
        ("a", &[Some(b"one"), None]),
        ("", &[None, None]),
        ("a long key", &[Some(b""), Some(&[0xff; 300])]),
        ("d", &[Some(b"\0"), Some(b"x")]),
    ];

    #[test]
    fn rows_stay_as_they_are_but_for_their_first_fields() {
        let (stream, kept) = stream(&ROWS);
        // For every way to cut the stream, and every size of the block.
        for step in 1..=stream.len() {
            for until in [1, 40, usize::MAX] {
                let mut decoder = decoder();
                let (mut blocks, mut waiting, mut rows) = (Vec::new(), Vec::new(), 0);
                for more in stream.chunks(step) {
                    waiting.extend_from_slice(more);
                    loop {
                        let mut block = Vec::new();
                        let passed = decoder.pass(&waiting, 1, until, &mut block);
                        let passed = passed.expect("a stream of COPY");
                        waiting.drain(..passed.used);
                        blocks.extend(block);
                        rows += passed.row_count;
                        if passed.is_short {
                            break;
                        }
                    }
                }
                assert_eq!(blocks, kept, "steps of {step}, {until} bytes at once");
                assert_eq!((rows, decoder.row_count()), (4, 4));
                assert_eq!(decoder.end(&waiting), Ok(()));
            }
        }
    }

    #[test]
    fn a_stream_that_is_damaged_is_an_error() {
        let (good, _) = stream(&ROWS);
        let pass = |bytes: &[u8]| {
            let mut decoder = decoder();
            let passed = decoder.pass(bytes, 1, usize::MAX, &mut Vec::new());
            passed.and_then(|passed| decoder.end(&bytes[passed.used..]))
        };
        assert_eq!(pass(&good), Ok(()));
        let mut longer = good.clone();
        longer.push(0);
        assert_eq!(pass(&longer), Err(DecodeError::AfterEnd { byte_count: 1 }));
        let shorter = &good[..good.len() - 1];
        assert_eq!(pass(shorter), Err(DecodeError::Truncated { rows: 4 }));
        let mut other_count = good.clone();
        other_count[20] = 2;
        let found = DecodeError::FieldCount {
            row: 1,
            expected: 3,
            found: 2,
        };
        assert_eq!(pass(&other_count), Err(found));
        let mut no_length = good;
        no_length[21] = 0x80;
        let failed = pass(&no_length);
        assert!(
            matches!(failed, Err(DecodeError::FieldLength { row: 1, .. })),
            "{failed:?}"
        );
    }
}
