//! Finds a planned file by its key. Memory holds a few bytes for each file, and no text of a key.

use std::sync::Arc;

use inrush_rows::ids::FileKey;
use inrush_source::Input;

use crate::identity;
use crate::units::key_start::KeyStart;

/// The positions of files in a list, by their keys.
#[derive(Debug, Default)]
pub struct FileIndex {
    places: Vec<(KeyStart, u32)>,
}

impl FileIndex {
    /// An index of these files.
    pub fn new(files: &[&Arc<dyn Input>]) -> FileIndex {
        let place = |(file, at): (&&Arc<dyn Input>, u32)| {
            Some((KeyStart::of(identity::file_key(&***file).as_str())?, at))
        };
        let mut places: Vec<(KeyStart, u32)> = files.iter().zip(0..).filter_map(place).collect();
        places.sort_unstable();
        FileIndex { places }
    }

    /// The position of the file with this key.
    pub fn find(&self, key: &FileKey) -> Option<usize> {
        let start = KeyStart::of(key.as_str())?;
        let found = self.places.binary_search_by(|(known, _)| known.cmp(&start));
        found.ok().map(|at| self.places[at].1 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::test_source::TestInput;

    #[test]
    fn files_are_found_by_their_keys() {
        let input =
            |number| -> Arc<dyn Input> { Arc::new(TestInput::new(&format!("{number}.csv"), 1)) };
        let files: Vec<Arc<dyn Input>> = (0..20).map(input).collect();
        let (known, others) = files.split_at(15);
        let index = FileIndex::new(&known.iter().collect::<Vec<_>>());
        for (at, file) in known.iter().enumerate() {
            assert_eq!(index.find(&identity::file_key(&**file)), Some(at));
        }
        for file in others {
            assert_eq!(index.find(&identity::file_key(&**file)), None);
        }
        assert_eq!(index.find(&FileKey::new("no key")), None);
    }
}
