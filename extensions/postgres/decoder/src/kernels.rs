//! The value of one field, by the kernel of its column.

use crate::column::{Column, Kernel};
use crate::numeric::Short;
use crate::text;

/// The range of `date` in days since 2000-01-01: `IS_VALID_DATE`.
const DATES: core::ops::Range<i32> = -2_451_545..2_145_031_949;
/// The range of `timestamp` in microseconds since 2000-01-01: `IS_VALID_TIMESTAMP`.
const TIMESTAMPS: core::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;
/// The range of `time` in microseconds, up to and including 24:00.
const TIMES: core::ops::RangeInclusive<i64> = 0..=86_400_000_000;

/// The target of a row's values: a tuple, or Datums.
///
/// Each method stores the next column. `None` means that the memory is not sufficient; then nothing was stored.
pub(crate) trait Sink {
    /// NULL.
    fn null(&mut self) -> Option<()>;
    /// A value of `N` bytes that the server passes by value; `datum` is the same value, extended to eight bytes.
    fn by_value<const N: usize>(
        &mut self,
        bytes: [u8; N],
        datum: u64,
        column: &Column,
    ) -> Option<()>;
    /// A value of a fixed length that the server passes by reference.
    fn by_reference(&mut self, bytes: &[u8], column: &Column) -> Option<()>;
    /// A value of `len` bytes with a varlena header; `write` fills them.
    fn varlena(&mut self, len: usize, column: &Column, write: impl FnOnce(&mut [u8]))
    -> Option<()>;
}

/// The result of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The value is in the sink.
    Yes,
    /// The value is in the sink, and is this number, for the smallest and largest key.
    Number(i64),
    /// The receive function of the type must be called.
    Receive,
    /// The sink has no space for it.
    NoRoom,
}

/// Stores a field in the sink, if its kernel is sure of it.
#[inline(always)]
pub(crate) fn take(field: &[u8], column: &Column, utf8: bool, sink: &mut impl Sink) -> Taken {
    let done = match Kernel::of(column.kernel) {
        Kernel::Receive => return Taken::Receive,
        Kernel::Bool => {
            let [byte] = field else {
                return Taken::Receive;
            };
            let value = u8::from(*byte != 0);
            sink.by_value([value], u64::from(value), column)
        }
        Kernel::Byte => {
            let [byte] = field else {
                return Taken::Receive;
            };
            sink.by_value([*byte], i64::from(*byte as i8) as u64, column)
        }
        Kernel::Int2 => {
            let Ok(bytes) = <[u8; 2]>::try_from(field) else {
                return Taken::Receive;
            };
            let value = i16::from_be_bytes(bytes);
            return number(
                sink.by_value(value.to_le_bytes(), i64::from(value) as u64, column),
                value.into(),
            );
        }
        Kernel::Int4 => {
            let Ok(bytes) = <[u8; 4]>::try_from(field) else {
                return Taken::Receive;
            };
            let value = i32::from_be_bytes(bytes);
            return number(
                sink.by_value(value.to_le_bytes(), i64::from(value) as u64, column),
                value.into(),
            );
        }
        Kernel::Int8 => {
            let Ok(bytes) = <[u8; 8]>::try_from(field) else {
                return Taken::Receive;
            };
            let value = i64::from_be_bytes(bytes);
            return number(
                sink.by_value(value.to_le_bytes(), value as u64, column),
                value,
            );
        }
        Kernel::Date => {
            let Ok(bytes) = <[u8; 4]>::try_from(field) else {
                return Taken::Receive;
            };
            let days = i32::from_be_bytes(bytes);
            if !DATES.contains(&days) && days != i32::MIN && days != i32::MAX {
                return Taken::Receive;
            }
            return number(
                sink.by_value(days.to_le_bytes(), i64::from(days) as u64, column),
                days.into(),
            );
        }
        Kernel::Time | Kernel::Timestamp => {
            let Ok(bytes) = <[u8; 8]>::try_from(field) else {
                return Taken::Receive;
            };
            let time = i64::from_be_bytes(bytes);
            let valid = if column.kernel == Kernel::Time as u8 {
                TIMES.contains(&time)
            } else {
                TIMESTAMPS.contains(&time) || time == i64::MIN || time == i64::MAX
            };
            if !valid {
                return Taken::Receive;
            }
            return number(sink.by_value(time.to_le_bytes(), time as u64, column), time);
        }
        Kernel::Uuid => {
            if field.len() != 16 {
                return Taken::Receive;
            }
            sink.by_reference(field, column)
        }
        Kernel::Bytea => sink.varlena(field.len(), column, |to| copy(field, to)),
        Kernel::Text => {
            if !text::is_valid(field, utf8) || !text::fits(field, column.characters) {
                return Taken::Receive;
            }
            sink.varlena(field.len(), column, |to| copy(field, to))
        }
        Kernel::Bpchar => {
            if !text::is_valid(field, utf8) || !text::fits(field, column.characters) {
                return Taken::Receive;
            }
            // Without a limit of characters there are no blanks to add.
            let limit = usize::try_from(column.characters).unwrap_or(0);
            let blanks = limit.saturating_sub(text::characters(field));
            sink.varlena(field.len() + blanks, column, |to| {
                if let Some((text, behind)) = to.split_at_mut_checked(field.len()) {
                    copy(field, text);
                    behind.fill(b' ');
                }
            })
        }
        Kernel::Numeric => {
            let Some(value) = Short::read(field, column) else {
                return Taken::Receive;
            };
            sink.varlena(value.stored_len(), column, |to| value.write(to))
        }
    };
    match done {
        Some(()) => Taken::Yes,
        None => Taken::NoRoom,
    }
}

/// The result of storing a number; `done` is `None` if the sink has no space for it.
#[inline(always)]
fn number(done: Option<()>, value: i64) -> Taken {
    match done {
        Some(()) => Taken::Number(value),
        None => Taken::NoRoom,
    }
}

/// Copies bytes between two places of the same length.
#[inline(always)]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() == to.len() {
        to.copy_from_slice(from);
    }
}
