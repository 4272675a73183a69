//! Replays the findings of the fuzzers: each input of the archives in `fuzz/corpus/` and of the folders in
//! `fuzz/regressions/` goes through the check of its target.

mod checks;

use std::fs::{self, File};
use std::io::Read;
use std::panic;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tar::Archive;

/// An input, and its place for messages.
type Input = (PathBuf, Vec<u8>);

/// The inputs of `fuzz/corpus/TARGET.tar.gz`.
fn packed(archive: &Path) -> Vec<Input> {
    let file = File::open(archive)
        .unwrap_or_else(|error| panic!("{} cannot be opened: {error}", archive.display()));
    let mut archive_of_inputs = Archive::new(GzDecoder::new(file));
    let entries = archive_of_inputs.entries().expect("it is a tar archive");
    entries
        .map(|entry| {
            let mut entry = entry.expect("the entry can be read");
            let name = archive.join(entry.path().expect("the entry has a name"));
            let mut input = Vec::new();
            entry.read_to_end(&mut input).expect("the entry is whole");
            (name, input)
        })
        .collect()
}

/// The files of `fuzz/regressions/TARGET/`; a target that has never failed has no such folder.
fn regressions(folder: &Path) -> Vec<Input> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let input = fs::read(&path).expect("the input can be read");
            (path, input)
        })
        .collect()
}

fn replay(target: &str, check: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let archive = root.join("corpus").join(target).with_extension("tar.gz");
    let mut inputs = packed(&archive);
    assert!(
        inputs.len() > 100,
        "{} has too few inputs",
        archive.display()
    );
    inputs.extend(regressions(&root.join("regressions").join(target)));
    let failed: Vec<&PathBuf> = inputs
        .iter()
        .filter(|(_, input)| panic::catch_unwind(|| check(input)).is_err())
        .map(|(name, _)| name)
        .collect();
    assert!(
        failed.is_empty(),
        "these inputs fail, in this order: {failed:#?}"
    );
}

#[test]
fn scanner() {
    replay("scanner", checks::scanner_input);
}

#[test]
fn split() {
    replay("split", checks::split_input);
}

#[test]
fn decode() {
    replay("decode", checks::decode_input);
}
