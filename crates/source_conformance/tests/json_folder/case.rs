//! A folder of two JSON files with known rows; one line in fifteen is not an object.

use std::fs;
use std::path::PathBuf;

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};
use inrush_source_conformance::{Case, Change, Row, written_later};
use tempfile::TempDir;

use super::{Flaw, JsonFolder};

/// The rows of the folder, and the flaw of the source that reads them.
pub struct JsonCase {
    folder: TempDir,
    rows: usize,
    flaw: Flaw,
}

const FILES: [&str; 2] = ["a.json", "b.json"];

fn is_faulty(row: usize) -> bool {
    row % 15 == 8
}

impl JsonCase {
    /// Writes the files, with this many rows each.
    pub fn new(rows: usize, flaw: Flaw) -> JsonCase {
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
        let line = |row| match is_faulty(row) {
            true => format!("{{\"id\":{row},\"of\":\n"),
            false => format!("{{\"id\":{row},\"of\":\"{name}\",\"none\":null}}\n"),
        };
        (0..self.rows).map(line).collect()
    }
}

impl Case for JsonCase {
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let folder = JsonFolder::open(self.folder.path(), stop, rate_bytes_max, self.flaw)?;
        Ok(Box::new(folder))
    }

    fn open_again(&self, stop: &Stop, marks: &[String]) -> Result<Box<dyn Source>, SourceError> {
        let mut folder = JsonFolder::open(self.folder.path(), stop, None, self.flaw)?;
        folder.take_marks(marks);
        Ok(Box::new(folder))
    }

    fn limits_rate(&self) -> bool {
        true
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        let of_file = |name: &&str| {
            let mut start = 0;
            let lines = self.lines(name);
            let row = |(number, line): (usize, &String)| {
                let path = self.path(name);
                let place = format!("{}, row {} (byte {start})", path.display(), number + 1);
                start += line.len();
                let is_faulty = is_faulty(number);
                Row {
                    place,
                    fields: match is_faulty {
                        true => vec![String::new(); 3],
                        false => vec![number.to_string(), (*name).to_owned(), String::new()],
                    },
                    is_faulty,
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

    fn move_row(&self) -> bool {
        let [from, to] = FILES.map(|name| self.path(name));
        let text = fs::read_to_string(&from).expect("read");
        let (first, rest) = text.split_once('\n').expect("a line");
        let others = fs::read_to_string(&to).expect("read");
        fs::write(&from, rest).expect("written");
        fs::write(&to, format!("{others}{first}\n")).expect("written");
        true
    }
}
