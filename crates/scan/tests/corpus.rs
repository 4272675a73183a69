//! What the fuzzers have found, once more: each input of `fuzz/corpus/` and of
//! `fuzz/regressions/` through the check of its target.

#![expect(clippy::disallowed_macros, reason = "what it prints is its own")]

mod checks;

use std::fs;
use std::path::Path;

fn replay(target: &str, check: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["corpus", "regressions"] {
        let folder = root.join(folder).join(target);
        // A target that has never failed has no regressions.
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let input = fs::read(&path).expect("the input can be read");
            println!("{}", path.display());
            check(&input);
            count += 1;
        }
    }
    assert!(count > 100, "the corpus of {target} is not there");
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
