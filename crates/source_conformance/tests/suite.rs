//! The suite finds each mistake of a source, and none in one that makes none.

mod json_folder;

use std::fs;
use std::path::PathBuf;

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};
use inrush_source_conformance::{Case, Change, Row, breach, hold, written_later};
use tempfile::TempDir;

use json_folder::{Flaw, JsonFolder};

/// A folder of two files.
struct JsonCase {
    folder: TempDir,
    rows: usize,
    flaw: Flaw,
}

const FILES: [&str; 2] = ["a.json", "b.json"];

impl JsonCase {
    fn new(rows: usize, flaw: Flaw) -> JsonCase {
        let folder = tempfile::tempdir().expect("a folder");
        let case = JsonCase { folder, rows, flaw };
        for name in FILES {
            let text: String = case.lines(name).concat();
            fs::write(case.path(name), text).expect("written");
        }
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let line = |row| format!("{{\"id\":{row},\"of\":\"{name}\",\"none\":null}}\n");
        (0..self.rows).map(line).collect()
    }
}

impl Case for JsonCase {
    fn open(&self, stop: &Stop) -> Result<Box<dyn Source>, SourceError> {
        let folder = JsonFolder::open(self.folder.path(), stop, self.flaw)?;
        Ok(Box::new(folder))
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        let of_file = |name: &&str| {
            let mut start = 0;
            let lines = self.lines(name);
            let row = |(number, line): (usize, &String)| {
                let place = format!(
                    "{}, row {} (byte {start})",
                    self.path(name).display(),
                    number + 1
                );
                start += line.len();
                Row {
                    place,
                    fields: vec![number.to_string(), (*name).to_owned(), String::new()],
                    is_faulty: false,
                }
            };
            lines.iter().enumerate().map(row).collect()
        };
        FILES.iter().map(of_file).collect()
    }

    fn secrets(&self) -> Vec<String> {
        vec!["hunter2".to_owned()]
    }

    fn change(&self, change: Change) -> bool {
        let path = self.path(FILES[0]);
        let modified = fs::metadata(&path).and_then(|file| file.modified());
        let modified = modified.expect("a time");
        let text = fs::read_to_string(&path).expect("read");
        match change {
            Change::Touched => {
                written_later(&path, &|| fs::write(&path, &text).expect("written"));
            }
            Change::Rewritten => {
                let text = text.replacen("\"id\":1", "\"id\":2", 1);
                written_later(&path, &|| {
                    fs::write(&path, &text).expect("written");
                    let file = fs::OpenOptions::new().write(true).open(&path);
                    file.and_then(|file| file.set_modified(modified))
                        .expect("set");
                });
            }
            Change::Grown => fs::write(&path, text + "{\"id\":-1}\n").expect("written"),
            Change::Removed => fs::remove_file(&path).expect("removed"),
        }
        true
    }
}

#[test]
fn a_source_without_flaws_holds() {
    for seed in [1, 2] {
        hold(
            "JSON files",
            &|rows| Box::new(JsonCase::new(rows, Flaw::None)),
            seed,
        );
    }
}

#[test]
fn each_flaw_is_found_by_its_clause() {
    let flaws = [
        (Flaw::TellsSecret, "S-1"),
        (Flaw::WritesToFile, "S-2"),
        (Flaw::HasNoSuchColumn, "S-3"),
        (Flaw::LeavesOutFirstByte, "S-4"),
        (Flaw::SplitsByChance, "S-5"),
        (Flaw::LosesRowAtSplitEnd, "S-6"),
        (Flaw::DoublesRowAtSplitStart, "S-6"),
        (Flaw::LosesRowOfChunk, "S-8"),
        (Flaw::CountsLinesFromZero, "S-9"),
        (Flaw::CountsRowsWrong, "S-11"),
        (Flaw::ReadsOnAfterEnd, "S-12"),
        (Flaw::NamesTwoAlike, "S-13"),
        (Flaw::FindsNoChange, "S-14"),
        (Flaw::ReadsWhatChanged, "S-15"),
        (Flaw::FindsNoOtherContent, "S-16"),
        (Flaw::HearsNoStop, "S-18"),
        (Flaw::OpensOnce, "S-19"),
    ];
    for (flaw, clause) in flaws {
        let found = breach(clause, &|rows| Box::new(JsonCase::new(rows, flaw)), 1);
        assert!(found.is_some(), "{clause} does not find {flaw:?}");
    }
}
