//! The places of rows from a database table that is read in ranges of a key. A message names such a row by its key.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use inrush_rows::chunk::Places;
use inrush_rows::typed_rows::Cells;

/// The places of a batch of rows: the value of the key in each row.
#[derive(Debug)]
pub struct KeyPlaces {
    /// The name of the key.
    pub column: Arc<str>,
    /// The value of the key in each row.
    pub keys: ArrayRef,
}

impl Places for KeyPlaces {
    fn are_rows(&self) -> bool {
        true
    }

    fn have_numbers(&self) -> bool {
        false
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        let column = &self.column;
        if self.keys.is_null(position) {
            return Some(format!("{column} NULL").into());
        }
        let mut text = Vec::new();
        Cells::of(&self.keys, false)?.append(position, &mut text);
        Some(format!("{column} = {}", String::from_utf8_lossy(&text)).into())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Int32Array;

    use super::*;

    #[test]
    fn a_key_names_its_row() {
        let places = KeyPlaces {
            column: "id".into(),
            keys: Arc::new(Int32Array::from(vec![Some(-7), None])),
        };
        let keys = [0, 1].map(|row| places.key(row));
        assert_eq!(
            keys.each_ref().map(Option::as_deref),
            [Some("id = -7"), Some("id NULL")]
        );
    }
}
