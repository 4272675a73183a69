//! The numbers that a run has given to new members, in memory. This is for destinations whose transactions store these
//! numbers together with the rows of a unit. Each destination gets new numbers in its own way.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use inrush_rows::quantity::bytes;

use crate::error::{Error, Result};
use crate::members::MEMBERS_BYTES_MAX;

/// Bytes that an entry takes in both maps, in addition to its texts.
const ENTRY_BYTES: usize = 160;
/// Bytes that a text takes in both maps, in addition to its characters.
const TEXT_BYTES: usize = 2 * 48;

/// The numbers of all references of a run.
#[derive(Debug, Default)]
pub struct GivenNumbers {
    references: Vec<Given>,
    bytes: u64,
}

/// The members of one reference.
#[derive(Debug)]
struct Given {
    /// The reference, as statements name it.
    reference: String,
    numbers: HashMap<Vec<String>, i64>,
    /// The members that no transaction is known to have committed, by their numbers.
    pending: BTreeMap<i64, Vec<String>>,
}

/// The members that a transaction keeps: for each reference, by its index, their numbers.
pub type KeptNumbers = Vec<(usize, Vec<i64>)>;

impl GivenNumbers {
    /// No numbers yet, of these references.
    pub fn new<'a>(references: impl Iterator<Item = &'a str>) -> GivenNumbers {
        let given = |reference: &str| Given {
            reference: reference.to_owned(),
            numbers: HashMap::new(),
            pending: BTreeMap::new(),
        };
        GivenNumbers {
            references: references.map(given).collect(),
            bytes: 0,
        }
    }

    /// The keys of a reference that have no number yet.
    pub fn without_number(&self, at: usize, keys: &[Vec<String>]) -> Vec<Vec<String>> {
        let numbers = &self.references[at].numbers;
        let new = keys.iter().filter(|key| !numbers.contains_key(*key));
        new.cloned().collect()
    }

    /// The numbers of keys that have one.
    ///
    /// # Panics
    ///
    /// If a key has none.
    pub fn of(&self, at: usize, keys: &[Vec<String>]) -> Vec<i64> {
        let numbers = &self.references[at].numbers;
        keys.iter().map(|key| numbers[key]).collect()
    }

    /// Gives a number to a key. A transaction must keep it.
    pub fn give(&mut self, at: usize, key: Vec<String>, number: i64) -> Result<()> {
        self.references[at].pending.insert(number, key.clone());
        self.add(at, key, number)
    }

    /// Adds a number that is kept already. Fails if all numbers need more than [`MEMBERS_BYTES_MAX`].
    pub fn add(&mut self, at: usize, key: Vec<String>, number: i64) -> Result<()> {
        let texts = key.iter().map(|text| 2 * text.len() + TEXT_BYTES);
        self.bytes += (texts.sum::<usize>() + ENTRY_BYTES) as u64;
        let Given {
            reference, numbers, ..
        } = &mut self.references[at];
        numbers.insert(key, number);
        match self.bytes > MEMBERS_BYTES_MAX {
            false => Ok(()),
            true => Err(Error::Unsuitable {
                what: format!(
                    "the new members of {reference} need more than {} of memory; there are {} of them so far",
                    bytes(MEMBERS_BYTES_MAX),
                    numbers.len()
                ),
                hint: "add them to the table yourself, then run the same command again".to_owned(),
            }),
        }
    }

    /// Uses another number for a key from now on, because another session has added the member.
    pub fn replace(&mut self, at: usize, key: Vec<String>, number: i64) {
        self.references[at].numbers.insert(key, number);
    }

    /// The members of a reference that no transaction is known to have committed, in the order of their numbers.
    pub fn pending(&self, at: usize) -> Vec<(i64, Vec<String>)> {
        let pending = self.references[at].pending.iter();
        let owned = pending.map(|(number, key)| (*number, key.clone()));
        owned.collect()
    }

    /// The transaction that keeps these numbers is committed.
    pub fn committed(&mut self, kept: &KeptNumbers) {
        for (at, numbers) in kept {
            for number in numbers {
                self.references[*at].pending.remove(number);
            }
        }
    }

    /// Forgets all numbers that no transaction has committed: other members may get these numbers.
    pub fn forget_pending(&mut self) {
        for given in &mut self.references {
            for key in std::mem::take(&mut given.pending).into_values() {
                given.numbers.remove(&key);
            }
        }
    }
}

/// The texts of a key and the number after them, from a row of the table that keeps them.
pub fn key_and_number(mut row: Vec<Option<String>>) -> Result<(Vec<String>, i64)> {
    let number = row.pop().flatten();
    let parsed = number.as_deref().and_then(|number| number.parse().ok());
    let number = parsed.ok_or_else(|| Error::Refused {
        doing: "cannot read the members of the run".to_owned(),
        message: format!("expected a number, but got {number:?}"),
        hint: None,
    })?;
    let key = row.into_iter().map(Option::unwrap_or_default);
    Ok((key.collect(), number))
}

/// Members as rows of the table that keeps them: the texts of their keys, in arrays of this type, then their numbers.
///
/// # Panics
///
/// If `names` does not have one name for each text of a key, and one more for the number.
pub fn batch<'a, Texts>(names: &[String], members: &'a [(i64, Vec<String>)]) -> RecordBatch
where
    Texts: Array + FromIterator<Option<&'a str>> + 'static,
{
    let keys = (0..names.len() - 1).map(|at| {
        let texts = members.iter().map(|(_, key)| Some(key[at].as_str()));
        Arc::new(texts.collect::<Texts>()) as ArrayRef
    });
    let numbers = members.iter().map(|(number, _)| *number);
    let numbers = Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef;
    let columns = names.iter().zip(keys.chain([numbers]));
    RecordBatch::try_from_iter(columns).expect("as many columns as names, of one length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pending_until_a_transaction_has_kept_them() {
        let mut given = GivenNumbers::new(["customers"].into_iter());
        let key = |text: &str| vec![text.to_owned()];
        given.add(0, key("a"), 1).expect("it is small");
        given.give(0, key("b"), 7).expect("it is small");
        given.give(0, key("c"), 8).expect("it is small");
        assert_eq!(
            given.without_number(0, &[key("a"), key("d")]),
            vec![key("d")]
        );
        assert_eq!(given.pending(0), vec![(7, key("b")), (8, key("c"))]);
        given.committed(&vec![(0, vec![7])]);
        assert_eq!(given.pending(0), vec![(8, key("c"))]);
        given.forget_pending();
        assert_eq!(
            given.without_number(0, &[key("b"), key("c")]),
            vec![key("c")]
        );
        given.replace(0, key("b"), 9);
        assert_eq!(given.of(0, &[key("b"), key("a")]), vec![9, 1]);
    }

    #[test]
    fn the_memory_of_numbers_is_bounded() {
        let mut given = GivenNumbers::new(["customers"].into_iter());
        let long = "k".repeat((MEMBERS_BYTES_MAX / 4) as usize);
        given
            .add(0, vec![long.clone(), String::new()], 1)
            .expect("half of it");
        let refused = given.add(0, vec![String::new(), long], 2);
        let refused = refused.expect_err("more than all of it").to_string();
        assert!(refused.contains("new members of customers"), "{refused}");
    }

    #[test]
    fn a_row_has_its_number_at_its_end() {
        let row = ["a", "b", "7"].map(|text| Some(text.to_owned()));
        let key = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(key_and_number(row.to_vec()).expect("a number"), (key, 7));
        let odd = vec![Some("a".to_owned()), None];
        assert!(key_and_number(odd).is_err());
    }
}
