//! The messages with the rows of a statement, and with the description of their columns.

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDescription {
    /// Its name.
    pub name: String,
    /// The OID of its table or view; 0 if it belongs to none.
    pub table_oid: u32,
    /// Its number in that table or view (`attnum`); 0 if it belongs to none.
    pub column_number: i16,
    /// The OID of its type.
    pub type_oid: u32,
    /// The modifier of its type; -1 if it has none.
    pub type_modifier: i32,
}

/// A reader of a message's body.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn word<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (word, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*word)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    /// A text that ends with a zero byte.
    fn text(&mut self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.word::<1>()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

/// Reads a `RowDescription`; `None` if its body ends early.
pub(super) fn description(body: &[u8]) -> Option<Vec<FieldDescription>> {
    let mut body = Body(body);
    let count = u16::from_be_bytes(body.word()?);
    (0..count)
        .map(|_| {
            let name = body.text()?;
            let table_oid = u32::from_be_bytes(body.word()?);
            let column_number = i16::from_be_bytes(body.word()?);
            let type_oid = u32::from_be_bytes(body.word()?);
            body.take(2)?;
            let type_modifier = i32::from_be_bytes(body.word()?);
            body.take(2)?;
            Some(FieldDescription {
                name,
                table_oid,
                column_number,
                type_oid,
                type_modifier,
            })
        })
        .collect()
}

/// Reads a `DataRow` whose values are texts; `None` if its body ends early.
pub(super) fn row(body: &[u8]) -> Option<Vec<Option<String>>> {
    let mut body = Body(body);
    let count = u16::from_be_bytes(body.word()?);
    (0..count)
        .map(|_| {
            let length = i32::from_be_bytes(body.word()?);
            match usize::try_from(length) {
                Err(_) => Some(None),
                Ok(length) => {
                    let text = body.take(length)?;
                    Some(Some(String::from_utf8_lossy(text).into_owned()))
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_rows_are_read() {
        let described = b"\0\x01id\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
        let expected = FieldDescription {
            name: "id".to_owned(),
            table_oid: 0x4000,
            column_number: 1,
            type_oid: 23,
            type_modifier: -1,
        };
        assert_eq!(description(described), Some(vec![expected]));
        let fields = row(b"\0\x02\0\0\0\x02ab\xff\xff\xff\xff");
        assert_eq!(fields, Some(vec![Some("ab".to_owned()), None]));
    }

    #[test]
    fn bodies_that_end_early_are_refused() {
        let described = b"\0\x01id\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
        for end in 0..described.len() {
            assert_eq!(description(&described[..end]), None, "{end} bytes");
        }
        for body in [&b"\0\x02\0\0\0\x02ab"[..], b"\0\x01\0\0\0\x09ab", b"\0"] {
            assert_eq!(row(body), None, "{body:?}");
        }
    }
}
