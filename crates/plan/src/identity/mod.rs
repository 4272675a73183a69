//! Keys by which the ledger recognises a package, a unit and a split.

pub mod causes;
pub mod description;
#[doc(hidden)]
pub mod golden;
#[cfg(test)]
mod golden_test;

use inrush_rows::hexadecimal::hexadecimal;
use inrush_rows::ids::{FileKey, RunKey, RunName, SplitKey, UnitKey};
use inrush_rows::plural::counted_do;
use inrush_source::{Input, Split};
use sha2::{Digest, Sha256};

/// The version of the descriptions whose digests are in unit keys; a key ends with it. Version 1 had no such ending,
/// and its descriptions contained names of the engine's types.
pub const VERSION: u32 = 2;

/// The separator in the key of a record between the unit's key and the part of the unit. A unit's key is a digest and a
/// version.
const PART_MARK: char = '-';

/// A digest of several texts. The end of each text is part of the digest, so texts cannot run into each other.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Digesting::default();
    texts.into_iter().for_each(|text| digest.add(text));
    digest.end()
}

/// The digest of a text that `each` passes line by line, the same lines each time. There may be a hundred thousand
/// lines, and the whole text is never in memory.
pub fn digest_of_lines(each: impl Fn(&mut dyn FnMut(&str))) -> String {
    let mut bytes_count = 0;
    let mut line_count: u64 = 0;
    each(&mut |line| {
        bytes_count += line.len() as u64;
        line_count += 1;
    });
    let line_ends = line_count.saturating_sub(1);
    let mut digest = Digesting::default();
    digest.0.update((bytes_count + line_ends).to_le_bytes());
    let mut is_first = true;
    each(&mut |line| {
        if !std::mem::take(&mut is_first) {
            digest.0.update(b"\n");
        }
        digest.0.update(line.as_bytes());
    });
    digest.end()
}

/// A digest of texts that come one after the other.
#[derive(Default)]
struct Digesting(Sha256);

impl Digesting {
    fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn end(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

/// Identifies a package and its targets. The same package resumes its stopped run, even if its settings were changed in
/// between.
pub fn run_key(package: &str, targets: &[String]) -> RunKey {
    let mut targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    targets.sort_unstable();
    RunKey::new(digest(std::iter::once(package).chain(targets)))
}

/// Identifies a file, however its path is written.
pub fn file_key(file: &dyn Input) -> FileKey {
    FileKey::new(digest(file.identity().iter().map(String::as_str)))
}

/// Identifies a split within its unit. The same file has the same key in any working folder and for any spelling of its
/// path.
pub fn split_key(split: &Split) -> SplitKey {
    let mut texts = split.input.identity();
    texts.push(split.range.start.to_string());
    texts.push(split.range.end.to_string());
    SplitKey::new(digest(texts.iter().map(String::as_str)))
}

/// Identifies a unit by its files, their sizes, and the description of the settings that affect its rows. A file's time
/// is not part of it: the file's text is compared instead.
pub fn unit_key(run_key: &RunKey, shape: &str, splits: &[Split]) -> UnitKey {
    let mut digest = Digesting::default();
    digest.add(run_key.as_str());
    digest.add(shape);
    for split in splits {
        digest.add(split_key(split).as_str());
        digest.add(&split.input.size_bytes().to_string());
    }
    UnitKey::new(format!("{}.{VERSION}", digest.end()))
}

/// Names the record of one split of a unit that has several: the unit, and the number of the split in it, counted from 1.
pub fn part_key(unit_key: &UnitKey, split: usize) -> UnitKey {
    UnitKey::new(format!("{unit_key}{PART_MARK}{split}"))
}

/// The key of a record of ranges of a fed split, made from the position of its first range in the file's text. `key` is
/// that of the split: the unit's key if the unit has one split, otherwise a [`part_key`]. No other record of the split
/// begins there, and every loaded split has a record that begins at 0.
pub fn range_key(key: &UnitKey, text_start: u64) -> UnitKey {
    UnitKey::new(format!("{key}{PART_MARK}{text_start}"))
}

/// The one or two numbers at the end of a record's key, as texts, which name a part of the unit; `None` for a record of the
/// whole unit.
pub fn part_of(record_key: &UnitKey) -> Option<(&str, Option<&str>)> {
    let (_, part) = record_key.as_str().split_once(PART_MARK)?;
    Some(match part.split_once(PART_MARK) {
        Some((first, second)) => (first, Some(second)),
        None => (part, None),
    })
}

/// The key of the unit from the key of a ledger's record, which is the unit's key, a [`part_key`] or a [`range_key`].
pub fn unit_of(record_key: &UnitKey) -> UnitKey {
    match record_key.as_str().split_once(PART_MARK) {
        Some((unit_key, _)) => UnitKey::new(unit_key),
        None => record_key.clone(),
    }
}

/// True if a unit's key is the digest of a description of another version. Then it cannot be compared with the keys of
/// this plan.
pub fn is_of_another_version(unit_key: &UnitKey) -> bool {
    let unit_key = unit_of(unit_key);
    let version = unit_key
        .as_str()
        .split_once('.')
        .map_or("1", |(_, version)| version);
    version != VERSION.to_string()
}

/// The note about units of a stopped run that cannot be resumed because another version of Inrush described them
/// differently; `None` if there are none.
pub fn another_version<'a>(
    run: &RunName,
    dropped_keys: impl IntoIterator<Item = &'a UnitKey>,
) -> Option<String> {
    let keys = dropped_keys.into_iter();
    match keys.filter(|key| is_of_another_version(key)).count() {
        0 => None,
        count => Some(format!(
            "the stopped run {run} was loaded by another version of Inrush, which named its units \
             differently: {} again from the beginning",
            counted_do(count as u64, "unit", "start")
        )),
    }
}

#[cfg(test)]
mod tests {

    use inrush_source::Source;

    use super::*;
    use crate::reading::test_source::{TestInput, TestSource};

    #[test]
    fn keys_end_with_the_version_of_their_description() {
        let key = unit_key(&RunKey::new("run"), "{}", &[]);
        assert!(!is_of_another_version(&key), "{key}");
        let digest = key.as_str().split('.').next().expect("a digest");
        assert_eq!(digest.len(), 64);
        let old = UnitKey::new(digest);
        assert!(is_of_another_version(&old));
        let newer = UnitKey::new(format!("{digest}.999"));
        assert!(is_of_another_version(&newer));
        assert_eq!(another_version(&RunName::new("r"), [&key]), None);
        let told = another_version(&RunName::new("r"), [&old, &key]).expect("a note");
        assert!(told.contains(": 1 unit starts again"), "{told}");
    }

    /// These digests were computed by another program that follows the same rule. They must not change, because a
    /// stopped run is resumed by them.
    #[test]
    fn a_unit_is_named_by_its_splits_in_their_order() {
        let split = |name: &str, size_bytes| {
            let source = TestSource::new(TestInput::new(name, size_bytes));
            Split::of(source.input(0), source.whole(0))
        };
        let splits = [split("a.csv", 10), split("b.csv", 7)];
        let key = |splits: &[Split]| unit_key(&RunKey::new("run"), "{}", splits);
        assert_eq!(
            key(&splits[..1]).as_str(),
            "bbc6c5caa4d208796b0338d0b6c4ca7e16a08d16d076c0d07d751b161a7d3787.2"
        );
        assert_eq!(
            key(&splits).as_str(),
            "835859301c81d185180fafd45421adcfc407875d140963007a4a09f76f8aceef.2"
        );
        let other_order: Vec<Split> = splits.iter().rev().cloned().collect();
        assert_ne!(key(&other_order), key(&splits));
    }

    #[test]
    fn ranges_of_a_unit_have_keys_that_name_it() {
        let unit = unit_key(&RunKey::new("run"), "{}", &[]);
        let key = range_key(&unit, 4_194_304);
        // Ledgers have keys of this form. A resumed run finds the units of the stopped run by them.
        assert_eq!(key.as_str(), format!("{unit}-4194304"));
        assert_eq!(
            (unit_of(&key), unit_of(&unit)),
            (unit.clone(), unit.clone())
        );
        assert!(!is_of_another_version(&key));
        assert!(is_of_another_version(&range_key(&UnitKey::new("0.1"), 0)));
        // If a unit has several splits, a key also names the split.
        let second = part_key(&unit, 2);
        let second_range = range_key(&second, 4_194_304);
        assert_eq!(second.as_str(), format!("{unit}-2"));
        assert_eq!(second_range.as_str(), format!("{unit}-2-4194304"));
        assert_eq!(
            (unit_of(&second), unit_of(&second_range)),
            (unit.clone(), unit.clone())
        );
        assert_eq!(
            (part_of(&unit), part_of(&second_range)),
            (None, Some(("2", Some("4194304"))))
        );
        // The records of a unit follow each other in the order of their keys.
        let next = UnitKey::new(format!("{}.2", "f".repeat(64)));
        assert!(unit < key && key < next, "{key}");
    }

    #[test]
    fn lines_are_digested_as_one_text() {
        for lines in [&[][..], &["a"], &["", "b", "", "c d"], &["", ""]] {
            let each = |see: &mut dyn FnMut(&str)| lines.iter().for_each(|line| see(line));
            assert_eq!(digest_of_lines(each), digest([lines.join("\n").as_str()]));
        }
    }

    #[test]
    fn texts_keep_their_borders() {
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
        assert_eq!(
            run_key("p", &["a".to_owned(), "b".to_owned()]),
            run_key("p", &["b".to_owned(), "a".to_owned()])
        );
    }
}
