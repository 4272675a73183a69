//! Folders of JSON files whose rows are known.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrow_schema::DataType;
use inrush_example_source::{JsonFiles, Settings};
use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};
use inrush_source_conformance::{Case, Change, Row, written_later};
use tempfile::TempDir;

/// How the objects of a file are written.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// An array, one object on each line.
    Array,
    /// An object on each line.
    Lines,
}

/// Two files; some of their rows are faulty.
pub struct FolderCase {
    folder: TempDir,
    form: Form,
    rows: Vec<Vec<Row>>,
}

/// A line, the fields of its row, and whether it is faulty.
fn line(number: usize) -> (String, [String; 4], bool) {
    let faulty = |line: String| (line, Default::default(), true);
    match number % 50 {
        11 => faulty("no JSON at all".to_owned()),
        12 => faulty(r#"{"id":"a text"}"#.to_owned()),
        13 => faulty(r#"{"id":9223372036854775808}"#.to_owned()),
        14 => faulty(r#"{"id":1,"id":2}"#.to_owned()),
        15 => faulty(r#"{"id":1,"extra":2}"#.to_owned()),
        16 => faulty(r#"{"id":1} {"id":2}"#.to_owned()),
        17 => faulty(r#"["id"]"#.to_owned()),
        18 => faulty(r#"{"price":9007199254740993}"#.to_owned()),
        20 => ("{}".to_owned(), Default::default(), false),
        21 => (
            r#"{"id":null,"note":""}"#.to_owned(),
            ["", r#""""#, "", ""].map(|field| Row::text(field.as_bytes())),
            false,
        ),
        22 => (
            r#"{"note":"say \"yes\",\nü"}"#.to_owned(),
            [
                String::new(),
                Row::text("\"say \"\"yes\"\",\nü\"".as_bytes()),
                String::new(),
                String::new(),
            ],
            false,
        ),
        _ => (
            format!(r#"{{"id":{number},"note":"note {number}","price":{number}.25,"paid":true}}"#),
            [
                number.to_string(),
                format!("note {number}"),
                format!("{number}.25"),
                "t".to_owned(),
            ],
            false,
        ),
    }
}

impl FolderCase {
    pub fn new(form: Form, rows: usize) -> FolderCase {
        let folder = tempfile::tempdir().expect("a folder");
        let mut case = FolderCase {
            folder,
            form,
            rows: Vec::new(),
        };
        case.write(0, 0..rows);
        case.write(1, rows..rows + 25);
        case
    }

    fn path(&self, file: usize) -> PathBuf {
        self.folder.path().join(format!("{file}.json"))
    }

    /// Writes a file, and keeps its rows.
    fn write(&mut self, file: usize, numbers: std::ops::Range<usize>) {
        let path = self.path(file);
        let first_line = match self.form {
            Form::Array => 2,
            Form::Lines => 1,
        };
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for (row, number) in numbers.enumerate() {
            let (text, fields, is_faulty) = line(number);
            lines.push(text);
            rows.push(Row {
                place: format!(
                    "{}, row {} (line = {})",
                    path.display(),
                    row + 1,
                    row + first_line
                ),
                fields: fields.to_vec(),
                is_faulty,
            });
        }
        let text = match self.form {
            Form::Array => format!("[\n{}\n]\n", lines.join(",\n")),
            Form::Lines => lines.join("\n"),
        };
        fs::write(&path, text).expect("a file can be written");
        self.rows.push(rows);
    }
}

/// Writes other bytes in place, and sets the file's time back to the earlier one.
fn write_with_same_time(path: &Path, bytes: &[u8]) {
    let before: SystemTime = fs::metadata(path)
        .and_then(|facts| facts.modified())
        .expect("a time");
    let mut file = File::options().write(true).open(path).expect("the file");
    file.write_all(bytes).expect("the file can be written");
    file.set_modified(before).expect("a time can be set");
}

impl Case for FolderCase {
    fn open_at(
        &self,
        stop: &Stop,
        _rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let columns = [
            ("id", DataType::Int64),
            ("note", DataType::Utf8),
            ("price", DataType::Float64),
            ("paid", DataType::Boolean),
        ];
        let settings = Settings {
            folder: self.folder.path().to_owned(),
            columns: columns
                .map(|(name, data_type)| (name.to_owned(), data_type))
                .to_vec(),
        };
        Ok(Box::new(JsonFiles::open(settings, stop)?))
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        self.rows.clone()
    }

    fn change(&self, change: Change) -> bool {
        let path = self.path(0);
        let text = fs::read_to_string(&path).expect("the file");
        match change {
            Change::Touched => written_later(&path, &|| {
                fs::write(&path, &text).expect("the file can be written")
            }),
            Change::Rewritten => {
                let other = text.replacen("note 5\"", "note 6\"", 1);
                assert_ne!(text, other);
                written_later(&path, &|| write_with_same_time(&path, other.as_bytes()));
            }
            Change::Grown => {
                let longer = format!("{text}\n{{\"id\":7}}\n");
                written_later(&path, &|| {
                    fs::write(&path, &longer).expect("the file can be written")
                });
            }
            Change::Removed => fs::remove_file(&path).expect("the file can be removed"),
        }
        true
    }
}
