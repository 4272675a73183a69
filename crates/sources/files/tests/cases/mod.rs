//! Files with known rows, one or two of each kind.

mod text;
mod typed;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use inrush_files::{FileForm, FileSource, Pipes, ResolveOptions, TableFile, resolve_as};
use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;
use inrush_source::{Source, SourceError};
use inrush_source_conformance::{Case, Change, Row, written_later};
use tempfile::TempDir;

use text::Text;

/// The number of bytes of a part of a shared file: fewer than the file has.
const PART_BYTES: usize = 3_000;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Delimited, with blank lines.
    Tbl,
    /// Quoted, with line ends in fields, faulty rows and bytes that are not UTF-8.
    Csv,
    /// Text with a trailer.
    Trailer,
    /// Fields at positions, a record on each line.
    FixedLines,
    /// Fields at positions, records without line ends.
    FixedBytes,
    /// Text in another encoding.
    Utf16,
    /// Compressed.
    Gzip,
    /// Compressed, and quoted.
    ZstdCsv,
    /// Two members of an archive.
    Zip,
    /// A pipe.
    Pipe,
    /// Typed rows.
    Parquet,
    /// Typed rows.
    Arrow,
}

/// All kinds.
#[allow(dead_code)]
pub const KINDS: &[Kind] = &[
    Kind::Tbl,
    Kind::Csv,
    Kind::Trailer,
    Kind::FixedLines,
    Kind::FixedBytes,
    Kind::Utf16,
    Kind::Gzip,
    Kind::ZstdCsv,
    Kind::Zip,
    Kind::Pipe,
    Kind::Parquet,
    Kind::Arrow,
];

impl Kind {
    /// The name in failures.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tbl => "tbl",
            Kind::Csv => "csv",
            Kind::Trailer => "trailer",
            Kind::FixedLines => "fixed width, lines",
            Kind::FixedBytes => "fixed width, no lines",
            Kind::Utf16 => "UTF-16",
            Kind::Gzip => "gzip",
            Kind::ZstdCsv => "zstd csv",
            Kind::Zip => "zip",
            Kind::Pipe => "pipe",
            Kind::Parquet => "Parquet",
            Kind::Arrow => "Arrow IPC",
        }
    }

    fn file_names(self) -> &'static [&'static str] {
        match self {
            Kind::Tbl => &["a.tbl", "b.tbl"],
            Kind::Csv => &["a.csv", "b.csv"],
            Kind::Trailer => &["a.txt"],
            Kind::FixedLines | Kind::FixedBytes => &["a.dat"],
            Kind::Utf16 => &["a.csv"],
            Kind::Gzip => &["a.tbl.gz", "b.tbl.gz"],
            Kind::ZstdCsv => &["a.csv.zst"],
            Kind::Zip => &["a.zip"],
            Kind::Pipe => &["pipe"],
            Kind::Parquet => &["a.parquet", "b.parquet"],
            Kind::Arrow => &["a.arrow"],
        }
    }

    fn dialect(self) -> Dialect {
        match self {
            Kind::Csv | Kind::Utf16 | Kind::ZstdCsv => Dialect::csv(),
            Kind::FixedLines => text::fixed_dialect(true),
            Kind::FixedBytes => text::fixed_dialect(false),
            Kind::Parquet | Kind::Arrow => TableFile::dialect(),
            _ => Dialect::tbl(),
        }
    }

    /// The text of a file of this kind.
    fn text(self, rows: usize, is_altered: bool) -> Text {
        match self {
            Kind::Csv | Kind::ZstdCsv => text::csv(rows, is_altered, true),
            Kind::Utf16 => text::csv(rows, is_altered, false).in_utf16(),
            Kind::Trailer => text::tbl(rows, is_altered).with_trailer(),
            Kind::FixedLines => text::fixed(rows, is_altered, true),
            Kind::FixedBytes => text::fixed(rows, is_altered, false),
            _ => text::tbl(rows, is_altered),
        }
    }
}

/// Files of one kind in a folder.
pub struct FileCase {
    folder: TempDir,
    kind: Kind,
    rows: usize,
    /// The thread that writes into the pipe.
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl FileCase {
    /// Files with this many rows each.
    pub fn new(kind: Kind, rows: usize) -> FileCase {
        let folder = tempfile::tempdir().expect("a folder");
        let case = FileCase {
            folder,
            kind,
            rows,
            writer: Mutex::default(),
        };
        if kind == Kind::Pipe {
            case.make_pipe();
            return case;
        }
        for name in kind.file_names() {
            case.write(name, rows, false);
        }
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, rows: usize, is_altered: bool) {
        let path = self.path(name);
        match self.kind {
            Kind::Parquet => typed::write_parquet(&path, rows, is_altered),
            Kind::Arrow => typed::write_arrow(&path, rows, is_altered),
            Kind::Gzip => text::write_gzip(&path, &self.kind.text(rows, is_altered).bytes),
            Kind::ZstdCsv => {
                let text = self.kind.text(rows, is_altered).bytes;
                let bytes = zstd::encode_all(&text[..], 1).expect("compressed");
                fs::write(&path, bytes).expect("written");
            }
            Kind::Zip => text::write_zip(&path, &self.kind.text(rows, is_altered).bytes),
            _ => fs::write(&path, self.kind.text(rows, is_altered).bytes).expect("written"),
        }
    }

    fn make_pipe(&self) {
        let path = self.path("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a pipe");
        let text = self.kind.text(self.rows, false).bytes;
        let write = move || {
            let mut pipe = OpenOptions::new().write(true).open(path).expect("opened");
            // The write fails if the reader is gone.
            let _ = pipe.write_all(&text);
        };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        *writer = Some(std::thread::spawn(write));
    }

    /// The paths of the inputs, as they appear in the places of rows.
    fn inputs(&self) -> Vec<PathBuf> {
        match self.kind {
            Kind::Zip => ["a.tbl", "b.tbl"]
                .map(|member| self.path("a.zip").join(member))
                .to_vec(),
            _ => {
                let names = self.kind.file_names().iter();
                names.map(|name| self.path(name)).collect()
            }
        }
    }
}

impl Drop for FileCase {
    fn drop(&mut self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.take() {
            // The writer waits until its pipe has a reader.
            let mut options = OpenOptions::new();
            let options = options.read(true).custom_flags(libc::O_NONBLOCK);
            while !writer.is_finished() {
                drop(options.open(self.path("pipe")));
            }
            writer.join().expect("it has ended");
        }
    }
}

impl Case for FileCase {
    fn open_at(
        &self,
        stop: &Stop,
        _rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let options = ResolveOptions {
            pipes: Pipes::new(stop.clone()),
            ..ResolveOptions::default()
        };
        let names = self.kind.file_names().iter();
        let patterns: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        let files = resolve_as(&patterns, self.folder.path(), &options)?;
        let files = files.into_iter().map(Arc::new).collect();
        let form = FileForm {
            trailer_starts_with: (self.kind == Kind::Trailer).then(|| "end|".to_owned()),
            part_bytes: PART_BYTES,
            ..FileForm::new(self.kind.dialect())
        };
        Ok(Box::new(FileSource::new(files, form)))
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        let rows = |path: &PathBuf| match self.kind {
            Kind::Parquet | Kind::Arrow => typed::rows(path, self.rows),
            _ => self.kind.text(self.rows, false).rows(path),
        };
        self.inputs().iter().map(rows).collect()
    }

    fn change(&self, change: Change) -> bool {
        if self.kind == Kind::Pipe {
            return false;
        }
        let name = self.kind.file_names()[0];
        let path = self.path(name);
        let before = fs::metadata(&path).expect("there");
        match change {
            Change::Touched => {
                written_later(&path, &|| self.write(name, self.rows, false));
                return true;
            }
            Change::Rewritten => written_later(&path, &|| {
                self.write(name, self.rows, true);
                let file = OpenOptions::new().write(true).open(&path);
                let modified = before.modified().expect("a time");
                file.and_then(|file| file.set_modified(modified))
                    .expect("set");
            }),
            Change::Grown => written_later(&path, &|| self.write(name, self.rows + 1, false)),
            Change::Removed => fs::remove_file(&path).expect("removed"),
        }
        change != Change::Rewritten || size(&path) == before.len()
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).expect("there").len()
}
