//! Values in PostgreSQL's binary form that have OIDs of types in them: arrays and composites.
//!
//! Types that users have made have other OIDs in each database. A value can pass from one database to another if its
//! OIDs are replaced by the OIDs of the receiving database. Nothing else of the value is read or changed:
//!
//! - array: dimensions, flags, **OID of the elements**, the bounds of each dimension, then each element after its
//!   length;
//! - composite: the number of fields, then for each its **OID**, its length and its value;
//! - range: a byte of flags, then each existing bound after its length; multirange: the number of ranges, then each
//!   range after its length.

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::{Array, BinaryViewArray};

const EMPTY: u8 = 0x01;
const NO_LOWER: u8 = 0x08 | 0x20;
const NO_UPPER: u8 = 0x10 | 0x40;

/// The places of OIDs in the values of a type, and these OIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeShape {
    /// The values have no OIDs that differ between databases.
    Plain,
    /// An array.
    Array {
        /// The OID of its elements' type.
        oid: u32,
        /// Their shape.
        element: Box<NativeShape>,
    },
    /// A composite: the OID and the shape of each field.
    Composite(Vec<(u32, NativeShape)>),
    /// A range of values of this shape.
    Range(Box<NativeShape>),
    /// Several ranges of values of this shape.
    Multirange(Box<NativeShape>),
}

/// The bytes of a value end early, or are not of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Malformed;

impl NativeShape {
    /// True if no value contains an OID that differs between databases.
    pub fn is_plain(&self) -> bool {
        match self {
            NativeShape::Plain => true,
            NativeShape::Array { .. } | NativeShape::Composite(_) => false,
            NativeShape::Range(bound) | NativeShape::Multirange(bound) => bound.is_plain(),
        }
    }

    /// The values with the OIDs of this shape. `Err` has the first row whose value is of another shape.
    pub fn with_own_oids(&self, values: &BinaryViewArray) -> Result<BinaryViewArray, usize> {
        let mut made = BinaryViewBuilder::with_capacity(values.len());
        let mut value = Vec::new();
        for (row, bytes) in values.iter().enumerate() {
            let Some(bytes) = bytes else {
                made.append_null();
                continue;
            };
            value.clear();
            value.extend_from_slice(bytes);
            let written = self.write(&mut value);
            written.map_err(|Malformed| row)?;
            made.append_value(&value);
        }
        Ok(made.finish())
    }

    fn write(&self, bytes: &mut [u8]) -> Result<(), Malformed> {
        let mut rest = Rest(bytes);
        match self {
            NativeShape::Plain => return Ok(()),
            NativeShape::Array { oid, element } => {
                let dimensions = rest.count()?;
                rest.take(4)?;
                rest.replace(*oid)?;
                let mut elements = usize::from(dimensions > 0);
                for _ in 0..dimensions {
                    elements = elements.checked_mul(rest.count()?).ok_or(Malformed)?;
                    rest.take(4)?;
                }
                for _ in 0..elements {
                    rest.field(element)?;
                }
            }
            NativeShape::Composite(fields) => {
                if rest.count()? != fields.len() {
                    return Err(Malformed);
                }
                for (oid, field) in fields {
                    rest.replace(*oid)?;
                    rest.field(field)?;
                }
            }
            NativeShape::Range(bound) => {
                let flags = rest.take(1)?[0];
                if flags & EMPTY == 0 {
                    for absent in [NO_LOWER, NO_UPPER] {
                        if flags & absent == 0 {
                            rest.field(bound)?;
                        }
                    }
                }
            }
            NativeShape::Multirange(bound) => {
                let range = NativeShape::Range(bound.clone());
                for _ in 0..rest.count()? {
                    rest.field(&range)?;
                }
            }
        }
        match rest.0.is_empty() {
            true => Ok(()),
            false => Err(Malformed),
        }
    }
}

/// The bytes of a value that are not processed yet.
struct Rest<'a>(&'a mut [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a mut [u8], Malformed> {
        let whole = std::mem::take(&mut self.0);
        let (taken, rest) = whole.split_at_mut_checked(bytes).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<&'a mut [u8; 4], Malformed> {
        self.take(4)?.try_into().map_err(|_| Malformed)
    }

    fn count(&mut self) -> Result<usize, Malformed> {
        let number = i32::from_be_bytes(*self.word()?);
        usize::try_from(number).map_err(|_| Malformed)
    }

    fn replace(&mut self, oid: u32) -> Result<(), Malformed> {
        *self.word()? = oid.to_be_bytes();
        Ok(())
    }

    /// A value after its length, which is -1 for NULL.
    fn field(&mut self, shape: &NativeShape) -> Result<(), Malformed> {
        match i32::from_be_bytes(*self.word()?) {
            -1 => Ok(()),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed)?;
                shape.write(self.take(length)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn moods(oid: u32) -> NativeShape {
        NativeShape::Array {
            oid,
            element: Box::new(NativeShape::Plain),
        }
    }

    /// An array of `ok` and NULL whose elements have this type.
    fn array(oid: i32) -> Vec<u8> {
        let mut bytes = words(&[1, 1, oid, 2, 1, 2]);
        bytes.extend(b"ok");
        bytes.extend(words(&[-1]));
        bytes
    }

    #[test]
    fn oids_are_replaced_wherever_they_are() {
        let composite = |oid: i32, own: i32| {
            let inner = array(oid);
            let mut bytes = words(&[2, 23, 4, 7, own, inner.len() as i32]);
            bytes.extend(inner);
            bytes
        };
        let pair =
            |oid, own| NativeShape::Composite(vec![(23, NativeShape::Plain), (own, moods(oid))]);
        let range = |oid: i32| {
            let bound = array(oid);
            let mut bytes = vec![0x02 | 0x10];
            bytes.extend(words(&[bound.len() as i32]));
            bytes.extend(bound);
            bytes
        };
        let ranges = |oid: i32| {
            let one = range(oid);
            let mut bytes = words(&[1, one.len() as i32]);
            bytes.extend(one);
            bytes
        };
        for (shape, found, expected) in [
            (moods(9), array(5), array(9)),
            (moods(9), words(&[0, 0, 5]), words(&[0, 0, 9])),
            (pair(9, 8), composite(5, 4), composite(9, 8)),
            (NativeShape::Range(Box::new(moods(9))), range(5), range(9)),
            (NativeShape::Range(Box::new(moods(9))), vec![1], vec![1]),
            (
                NativeShape::Multirange(Box::new(moods(9))),
                ranges(5),
                ranges(9),
            ),
        ] {
            let values = BinaryViewArray::from(vec![Some(&found[..]), None]);
            let made = shape.with_own_oids(&values);
            let expected = BinaryViewArray::from(vec![Some(&expected[..]), None]);
            assert_eq!(made, Ok(expected), "{shape:?}");
            for end in 0..found.len() {
                let cut = BinaryViewArray::from(vec![&found[..end]]);
                assert_eq!(shape.with_own_oids(&cut), Err(0), "{shape:?}, {end} bytes");
            }
        }
    }

    #[test]
    fn counts_that_claim_too_much_end() {
        let claims = words(&[2, 0, 5, i32::MAX, 1, i32::MAX, 1]);
        let values = BinaryViewArray::from(vec![&claims[..]]);
        assert_eq!(moods(9).with_own_oids(&values), Err(0));
    }
}
