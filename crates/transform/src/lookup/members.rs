//! Inferred members (`unmatched = "add"`): each key that the reference lacks gets the number of a member that the
//! switch adds to it.
//!
//! The destination gives the numbers ([`MemberNumbers`]): all streams, hosts and attempts of a run get the same number
//! for the same key. They are kept here, so that the destination is asked once for most keys. [`Members`] checks that a
//! key fits the columns of the reference; a row whose key does not fit is rejected.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use inrush_rows::column_type::ColumnType;

use super::index::heap_bytes;
use crate::error::RunError;
use crate::key::plain_text;
use crate::spec::InputColumn;

/// The most memory for the numbers of members, in bytes. Beyond this limit, the destination is asked for the same
/// number again with each batch.
pub const MEMBERS_BYTES: u64 = 16 << 20;

/// The most bytes of a key: an index of PostgreSQL always accepts this many.
const KEY_BYTES_MAX: usize = 2_000;

/// The values of a key as texts, in the order of the columns of `on`.
pub type MemberKey = Vec<String>;

/// Gives the numbers of members.
pub trait MemberNumbers: Send + Sync {
    /// The number of each of these keys, which are sorted and different. The text of an error is for people.
    fn numbers(&self, keys: &[MemberKey]) -> Result<Vec<i64>, String>;
}

/// The members that a lookup adds to its reference. All streams share them.
pub struct Members {
    /// The reference's columns of the key.
    columns: Vec<InputColumn>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    numbers: HashMap<MemberKey, i64>,
    key_bytes: u64,
    source: Option<Source>,
}

#[derive(Clone)]
enum Source {
    /// Numbers that are never loaded: -1, -2, and so on.
    Rehearsed,
    Given(Arc<dyn MemberNumbers>),
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Members").field(&self.columns).finish()
    }
}

impl Members {
    /// Members with these columns as their key. Their numbers are asked for later.
    pub fn new(columns: Vec<InputColumn>) -> Members {
        Members {
            columns,
            known: Mutex::default(),
        }
    }

    /// True if members can have a key with this type: equal values must have the same text.
    pub fn may_have(column_type: &ColumnType) -> bool {
        matches!(
            column_type,
            ColumnType::Int16
                | ColumnType::Int32
                | ColumnType::Int64
                | ColumnType::Decimal { .. }
                | ColumnType::Uuid
                | ColumnType::Text {
                    blank_padded: false,
                    ..
                }
        )
    }

    /// The reference's columns of the key.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// From now on, `numbers` gives the numbers.
    pub fn give(&self, numbers: Arc<dyn MemberNumbers>) {
        let mut known = self.known();
        *known = Known {
            source: Some(Source::Given(numbers)),
            ..Known::default()
        };
    }

    /// From now on, rows get numbers that belong to no member. Such rows are shown or measured, not loaded.
    pub fn rehearse(&self) {
        let mut known = self.known();
        if known.source.is_none() {
            known.source = Some(Source::Rehearsed);
        }
    }

    /// Forgets the numbers, which have changed.
    pub fn forget(&self) {
        let mut known = self.known();
        *known = Known {
            source: known.source.take(),
            ..Known::default()
        };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a row without NULL, or in words why no member can have it.
    pub(super) fn key(&self, keys: &[&ArrayRef], row: usize) -> Result<MemberKey, String> {
        let mut key = Vec::with_capacity(keys.len());
        for (array, column) in keys.iter().zip(&self.columns) {
            let text = plain_text(array, row).unwrap_or_default();
            let text = match array.data_type() {
                DataType::Decimal128(_, _) => without_zeros(text),
                _ => text,
            };
            if !fits(&column.column_type, &text) {
                return Err(format!(
                    "it does not fit `{}` of the reference, so no member can be added",
                    column.name
                ));
            }
            key.push(text);
        }
        match key.iter().map(String::len).sum::<usize>() > KEY_BYTES_MAX {
            true => Err(format!(
                "it is longer than {KEY_BYTES_MAX} bytes, so no member can be added"
            )),
            false => Ok(key),
        }
    }

    /// The number of each key.
    pub(super) fn numbers(&self, keys: &[MemberKey]) -> Result<Vec<i64>, RunError> {
        let mut known = self.known();
        let asked: BTreeSet<&MemberKey> = keys
            .iter()
            .filter(|key| !known.numbers.contains_key(*key))
            .collect();
        let asked: Vec<MemberKey> = asked.into_iter().cloned().collect();
        let mut new = HashMap::new();
        if !asked.is_empty() {
            let source = known.source.clone();
            let given = match source {
                Some(Source::Given(numbers)) => {
                    // Other streams may meanwhile use the keys that are known.
                    drop(known);
                    let given = numbers.numbers(&asked);
                    known = self.known();
                    given.map_err(|message| RunError::Members { message })?
                }
                Some(Source::Rehearsed) => {
                    let first = known.numbers.len() as i64;
                    (0..asked.len() as i64).map(|at| -1 - first - at).collect()
                }
                None => {
                    return Err(RunError::Members {
                        message: "there is no source of numbers for new members".to_owned(),
                    });
                }
            };
            if given.len() != asked.len() {
                return Err(RunError::Members {
                    message: format!("{} of {} keys have a number", given.len(), asked.len()),
                });
            }
            new.extend(asked.into_iter().zip(given));
        }
        let number = |key: &MemberKey| known.numbers.get(key).or_else(|| new.get(key)).copied();
        let numbers = keys.iter().map(number).collect::<Option<Vec<i64>>>();
        let numbers = numbers.ok_or_else(|| RunError::Members {
            message: "a key lost its number meanwhile".to_owned(),
        })?;
        known.keep(new);
        Ok(numbers)
    }
}

impl Known {
    /// Keeps numbers, as long as they fit into memory.
    fn keep(&mut self, new: HashMap<MemberKey, i64>) {
        for (key, number) in new {
            let texts = key.iter().map(|text| heap_bytes(text.len()));
            let vector = heap_bytes(key.len() * size_of::<String>());
            let bytes = texts.sum::<u64>() + vector;
            // A table is copied when it grows, and then has places for twice as many.
            let places = 4 * self.numbers.len().max(8) * size_of::<(MemberKey, i64)>();
            if self.key_bytes + bytes + places as u64 > MEMBERS_BYTES {
                return;
            }
            self.key_bytes += bytes;
            self.numbers.insert(key, number);
        }
    }
}

/// True if the reference's column holds a value of the flow unchanged.
fn fits(column_type: &ColumnType, text: &str) -> bool {
    match column_type {
        ColumnType::Int16 => text.parse::<i16>().is_ok(),
        ColumnType::Int32 => text.parse::<i32>().is_ok(),
        ColumnType::Int64 => text.parse::<i64>().is_ok(),
        ColumnType::Decimal { precision, scale } => {
            let digits = text.trim_start_matches('-');
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let whole = whole.trim_start_matches('0');
            let scale = usize::from(*scale);
            fraction.len() <= scale && whole.len() + scale <= usize::from(*precision)
        }
        ColumnType::Text {
            characters_max: Some(most),
            ..
        } => text.chars().count() <= *most as usize,
        _ => true,
    }
}

/// A decimal without the zeros at its end: 1.50 is 1.5, and 2.00 is 2.
fn without_zeros(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An array of integers in which these rows have these values.
pub(super) fn with_numbers(array: &ArrayRef, rows: &[(usize, i64)]) -> Result<ArrayRef, RunError> {
    match array.data_type() {
        DataType::Int16 => replaced::<Int16Type>(array, rows),
        DataType::Int32 => replaced::<Int32Type>(array, rows),
        _ => replaced::<Int64Type>(array, rows),
    }
}

fn replaced<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    rows: &[(usize, i64)],
) -> Result<ArrayRef, RunError>
where
    T::Native: TryFrom<i64>,
{
    let mut values: Vec<Option<T::Native>> = array.as_primitive::<T>().iter().collect();
    for (row, number) in rows {
        let number = T::Native::try_from(*number).map_err(|_| RunError::Members {
            message: format!(
                "the sequence of the reference gives {number}, which its column cannot hold"
            ),
        })?;
        values[*row] = Some(number);
    }
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(values)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// Gives numbers like a sequence, and counts the requests.
    #[derive(Default)]
    struct Sequence {
        given: Mutex<HashMap<MemberKey, i64>>,
        asked: AtomicI64,
    }

    impl MemberNumbers for Sequence {
        fn numbers(&self, keys: &[MemberKey]) -> Result<Vec<i64>, String> {
            assert!(keys.is_sorted_by(|one, other| one < other), "{keys:?}");
            self.asked.fetch_add(keys.len() as i64, Ordering::Relaxed);
            let mut given = self.given.lock().expect("no panic");
            Ok(keys
                .iter()
                .map(|key| {
                    let next = given.len() as i64 + 1;
                    *given.entry(key.clone()).or_insert(next)
                })
                .collect())
        }
    }

    fn key(text: &str) -> MemberKey {
        vec![text.to_owned()]
    }

    #[test]
    fn a_key_is_asked_for_once_and_always_has_the_same_number() {
        let sequence = Arc::new(Sequence::default());
        let members = Members::new(Vec::new());
        members.give(Arc::clone(&sequence) as _);
        let numbers = |keys: &[&str]| {
            let keys: Vec<MemberKey> = keys.iter().copied().map(key).collect();
            members.numbers(&keys).expect("numbers")
        };
        assert_eq!(numbers(&["b", "a", "b"]), [2, 1, 2]);
        assert_eq!(numbers(&["a", "c"]), [1, 3]);
        assert_eq!(sequence.asked.load(Ordering::Relaxed), 3);
        members.forget();
        assert_eq!(numbers(&["c", "a"]), [3, 1]);
        assert_eq!(sequence.asked.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn keys_that_do_not_fit_into_memory_have_their_number_all_the_same() {
        let sequence = Arc::new(Sequence::default());
        let members = Members::new(Vec::new());
        members.give(Arc::clone(&sequence) as _);
        let keys: Vec<MemberKey> = (0..20_000)
            .map(|number| key(&format!("{number:0>1000}")))
            .collect();
        let first = members.numbers(&keys).expect("numbers");
        assert_eq!(members.numbers(&keys).expect("numbers"), first);
        let asked = sequence.asked.load(Ordering::Relaxed);
        assert!((20_001..40_000).contains(&asked), "{asked}");
    }

    #[test]
    fn without_anything_that_gives_numbers_there_are_none() {
        let members = Members::new(Vec::new());
        members.numbers(&[key("a")]).expect_err("no numbers");
        members.rehearse();
        let numbers = members.numbers(&[key("a"), key("b"), key("a")]);
        assert_eq!(numbers.expect("numbers"), [-1, -2, -1]);
    }

    #[test]
    fn a_key_must_fit_the_column_of_the_reference() {
        let text = |characters_max| ColumnType::Text {
            characters_max,
            blank_padded: false,
        };
        let decimal = ColumnType::Decimal {
            precision: 4,
            scale: 2,
        };
        for (column_type, value, expected) in [
            (&ColumnType::Int16, "32767", true),
            (&ColumnType::Int16, "32768", false),
            (&ColumnType::Int32, "-2147483649", false),
            (&ColumnType::Int64, "1.5", false),
            (&decimal, "12.34", true),
            (&decimal, "-99", true),
            (&decimal, "100", false),
            (&decimal, "0.123", false),
            (&text(Some(2)), "\u{e4}\u{f6}", true),
            (&text(Some(2)), "abc", false),
            (&text(None), "abc", true),
        ] {
            assert_eq!(
                fits(column_type, value),
                expected,
                "{column_type:?} {value}"
            );
        }
        for (text, expected) in [
            ("1.50", "1.5"),
            ("2.00", "2"),
            ("100", "100"),
            ("0.00", "0"),
        ] {
            assert_eq!(without_zeros(text.to_owned()), expected);
        }
    }
}
