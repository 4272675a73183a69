//! The index of a reference in memory: from the bytes of a key to the number of its row.
//!
//! Most keys are numbers, dates or short codes. They are kept in the table itself, so finding one touches one place in
//! memory. Longer keys are blocks of the heap.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use foldhash::fast::RandomState;

/// The most bytes of a key that is kept in the table.
const SHORT_BYTES_MAX: usize = 15;

/// The number of keys that are looked up as one block. A block fits into the first-level cache.
const KEYS_AT_ONCE: usize = 256;

/// A short key: its bytes, zeros, and its length in the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShortKey([u8; SHORT_BYTES_MAX + 1]);

impl ShortKey {
    fn of(key: &[u8]) -> Option<ShortKey> {
        let mut bytes = [0; SHORT_BYTES_MAX + 1];
        bytes[..SHORT_BYTES_MAX]
            .get_mut(..key.len())?
            .copy_from_slice(key);
        bytes[SHORT_BYTES_MAX] = key.len() as u8;
        Some(ShortKey(bytes))
    }

    fn bytes(&self) -> &[u8] {
        &self.0[..usize::from(self.0[SHORT_BYTES_MAX])]
    }
}

impl Hash for ShortKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_ne_bytes(self.0));
    }
}

/// Keys, each with the number of its row.
#[derive(Debug, Default)]
pub(super) struct Index {
    short: HashMap<ShortKey, u32, RandomState>,
    long: HashMap<Box<[u8]>, u32, RandomState>,
    /// Bytes of the heap that the long keys take.
    long_bytes: u64,
}

impl Index {
    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// The rows of keys, in their order. `key_of` puts a key's bytes into the vector, or says that there is none.
    ///
    /// The keys of a block are made first and then looked up one after the other, so that the processor waits for the
    /// memory of several keys at the same time.
    pub(super) fn rows_of(
        &self,
        count: usize,
        mut key_of: impl FnMut(usize, &mut Vec<u8>) -> bool,
    ) -> Vec<Option<u32>> {
        let mut rows = vec![None; count];
        let mut key = Vec::new();
        let mut short = Vec::with_capacity(KEYS_AT_ONCE);
        for (number, block) in rows.chunks_mut(KEYS_AT_ONCE).enumerate() {
            let start = number * KEYS_AT_ONCE;
            for (at, row) in block.iter_mut().enumerate() {
                if !key_of(start + at, &mut key) {
                    continue;
                }
                match ShortKey::of(&key) {
                    Some(key) => short.push((at, key)),
                    None => *row = self.long.get(key.as_slice()).copied(),
                }
            }
            for (at, key) in short.drain(..) {
                block[at] = self.short.get(&key).copied();
            }
        }
        rows
    }

    /// Enters a key. If the key is there already, it keeps its row, and this row is returned.
    pub(super) fn enter(&mut self, key: &[u8], row: u32) -> Option<&mut u32> {
        match ShortKey::of(key) {
            Some(key) => entered(self.short.entry(key), row),
            None => {
                let known = entered(self.long.entry(key.into()), row);
                if known.is_none() {
                    self.long_bytes += heap_bytes(key.len());
                }
                known
            }
        }
    }

    /// All keys with their rows, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let short = self.short.iter().map(|(key, row)| (key.bytes(), *row));
        let long = self.long.iter().map(|(key, row)| (key.as_ref(), *row));
        short.chain(long)
    }

    /// Bytes of memory that are held.
    pub(super) fn bytes(&self) -> u64 {
        table_bytes::<ShortKey>(self.short.capacity())
            + table_bytes::<Box<[u8]>>(self.long.capacity())
            + self.long_bytes
    }

    /// The most bytes of memory while one more key is entered: a full table is copied into a table of twice its size.
    pub(super) fn bytes_with_another(&self) -> u64 {
        let mut bytes = self.bytes();
        if self.short.len() == self.short.capacity() {
            bytes += table_bytes::<ShortKey>(2 * self.short.capacity().max(2));
        }
        if self.long.len() == self.long.capacity() {
            bytes += table_bytes::<Box<[u8]>>(2 * self.long.capacity().max(2));
        }
        bytes
    }
}

fn entered<K>(entry: Entry<'_, K, u32>, row: u32) -> Option<&mut u32> {
    match entry {
        Entry::Vacant(entry) => {
            entry.insert(row);
            None
        }
        Entry::Occupied(entry) => Some(entry.into_mut()),
    }
}

/// Bytes of a hash table of keys with this capacity. The number of its places is a power of two, and at most seven
/// eighths of them are filled. A place has a key, its row, and a byte of the table's own.
pub(super) fn table_bytes<K>(capacity: usize) -> u64 {
    let place_bytes = size_of::<(K, u32)>() as u64 + 1;
    match capacity {
        0 => 0,
        _ => (capacity * 8 / 7).next_power_of_two() as u64 * place_bytes,
    }
}

/// Bytes of the heap for a block of this size: the allocator adds a word, and rounds up to a multiple of 16.
pub(super) fn heap_bytes(bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        _ => (bytes + size_of::<usize>()).next_multiple_of(16).max(32) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_different_keys() {
        let mut index = Index::default();
        // These keys differ only by zeros at their end.
        let keys: Vec<Vec<u8>> = (0..40).map(|length| vec![0; length]).collect();
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(index.enter(key, row as u32), None, "{key:?}");
        }
        assert_eq!(index.len(), keys.len());
        for (row, key) in keys.iter().enumerate() {
            assert_eq!(index.enter(key, 99), Some(&mut (row as u32)), "{key:?}");
        }
        // More than a block of keys: keys of the index, two other keys, and an empty one.
        let asked = 10 * KEYS_AT_ONCE;
        let rows = index.rows_of(asked, |at, key| {
            key.clear();
            match at % 43 {
                40 => key.push(1),
                41 => key.extend([1; 30]),
                42 => return false,
                row => key.extend_from_slice(&keys[row]),
            }
            true
        });
        for (at, row) in rows.into_iter().enumerate() {
            let expected = Some(at % 43).filter(|row| *row < keys.len());
            assert_eq!(row, expected.map(|row| row as u32), "{at}");
        }
        let mut all: Vec<(&[u8], u32)> = index.iter().collect();
        all.sort_unstable();
        let expected = keys.iter().enumerate();
        let expected: Vec<(&[u8], u32)> = expected
            .map(|(row, key)| (key.as_slice(), row as u32))
            .collect();
        assert_eq!(all, expected);
    }
}
