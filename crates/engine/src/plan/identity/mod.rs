//! Keys by which the ledger recognises a package, a unit and a split.

pub mod description;
#[doc(hidden)]
pub mod golden;
#[cfg(test)]
mod golden_test;

use inrush_files::{SourceFile, Split};
use inrush_rows::plural::counted_do;
use sha2::{Digest, Sha256};

/// Digits of a unit's key in the names of its staging table and of its files.
pub const KEY_DIGITS: usize = 16;

/// The version of the descriptions that unit keys are digests of; a key ends with it. Version 1 had
/// no ending, and digested texts that followed the names of the engine's types.
pub const VERSION: u32 = 2;

/// A digest of several texts; none can be mistaken for a part of its neighbour.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Digesting::default();
    texts.into_iter().for_each(|text| digest.add(text));
    digest.end()
}

/// The digest of one text, of whose lines `each` hands over one after the other, the same each time: there may be a hundred
/// thousand, and the text is never in memory.
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
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let bytes = self.0.finalize();
        // There may be one for each of a hundred thousand files: as long as it is, and no longer.
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            text.push(DIGITS[usize::from(byte >> 4)].into());
            text.push(DIGITS[usize::from(byte & 15)].into());
        }
        text
    }
}

/// Names a package and its targets: the same package goes on where it stopped, even if its
/// settings were changed meanwhile.
pub fn run_key(package: &str, targets: &[String]) -> String {
    let mut targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    targets.sort_unstable();
    digest(std::iter::once(package).chain(targets))
}

/// Names a file, however its path is written.
pub fn file_key(file: &SourceFile) -> String {
    digest(file.identity().iter().map(String::as_str))
}

/// Names a split within its unit: the same file is the same wherever the command is given, and
/// however its path is written.
pub fn split_key(split: &Split) -> String {
    let mut texts = split.file.identity();
    texts.push(split.byte_range.start.to_string());
    texts.push(split.byte_range.end.to_string());
    digest(texts.iter().map(String::as_str))
}

/// Names a unit by its files, their sizes, and the description of what shapes its rows. A file's
/// time is no part of it: whether the file has the text that it had is asked of its contents.
pub fn unit_key(run_key: &str, shape: &str, splits: &[Split]) -> String {
    let mut digest = Digesting::default();
    digest.add(run_key);
    digest.add(shape);
    for split in splits {
        digest.add(&split_key(split));
        digest.add(&split.file.size_bytes.to_string());
    }
    let mut key = format!("{}.{VERSION}", digest.end());
    key.shrink_to_fit();
    key
}

/// Whether a unit's key is a digest of a description of another version: whether the unit is the
/// one that is planned now cannot be told.
pub fn is_of_another_version(unit_key: &str) -> bool {
    let version = unit_key.split_once('.').map_or("1", |(_, version)| version);
    version != VERSION.to_string()
}

/// What to tell of a stopped run of which units cannot be resumed, for another version of Inrush
/// loaded them and described them in another way; none where there are none.
pub fn another_version<'a>(
    run: &str,
    dropped_keys: impl IntoIterator<Item = &'a str>,
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
    use super::*;

    #[test]
    fn keys_end_with_the_version_of_their_description() {
        let key = unit_key("run", "{}", &[]);
        assert!(!is_of_another_version(&key), "{key}");
        let old = key.split('.').next().expect("a digest");
        assert_eq!(old.len(), 64);
        assert!(is_of_another_version(old));
        assert!(is_of_another_version(&format!("{old}.999")));
        assert_eq!(another_version("r", [key.as_str()]), None);
        let told = another_version("r", [old, &key]).expect("a note");
        assert!(told.contains(": 1 unit starts again"), "{told}");
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
