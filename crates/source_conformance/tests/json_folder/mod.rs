//! A toy source: a folder of files with one JSON object on each line. `docs/adding-a-source.md` walks through it.

mod case;
mod flaw;
mod parts;
mod reader;
mod server;
mod text;

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use inrush_rows::cancel::Stop;
use inrush_rows::finding::Finding;
use inrush_rows::native_type::NativeType;
use inrush_rows::pace::Pace;
use inrush_source::{
    ContentHash, ExpectedReading, Input, InputState, ReadSettings, RecordStart, SessionSampler,
    ShareSettings, SharedSplit, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent,
};

pub use case::JsonCase;
pub use flaw::Flaw;
use parts::Parts;
use reader::JsonStream;
use server::JsonServer;
use text::{Line, Lines};

/// A folder of JSON files.
#[derive(Debug)]
pub struct JsonFolder {
    files: Vec<Arc<JsonFile>>,
    form: Arc<JsonForm>,
    /// True if splits were cut.
    has_cut: AtomicBool,
    /// True if it has the marks of a stopped run.
    has_marks: bool,
}

/// The data that all readers of a folder share.
#[derive(Debug)]
struct JsonForm {
    /// The names of the first object's values.
    names: Vec<String>,
    stop: Stop,
    /// The pace of all readers.
    pace: Arc<Pace>,
    server: Arc<JsonServer>,
    /// The flaw of this source, which the suite must find.
    flaw: Flaw,
}

/// A file, as it was when the folder was opened.
#[derive(Debug)]
struct JsonFile {
    index: usize,
    path: Arc<Path>,
    state: InputState,
    flaw: Flaw,
}

impl JsonFolder {
    /// Opens the files of a folder, in the order of their names. They are read at this rate, in bytes per second.
    pub fn open(
        folder: &Path,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
        flaw: Flaw,
    ) -> Result<JsonFolder, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: folder.to_path_buf(),
            cause,
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            paths.push(entry.map_err(unreadable)?.path());
        }
        paths.sort();
        let file = |(index, path): (usize, PathBuf)| {
            Ok(Arc::new(JsonFile {
                index,
                flaw,
                state: state_of(&path)?,
                path: path.into(),
            }))
        };
        let files: Vec<Arc<JsonFile>> = paths
            .into_iter()
            .enumerate()
            .map(file)
            .collect::<Result<_, _>>()?;
        let first = files.first().ok_or_else(|| SourceError::Input {
            input: folder.to_path_buf(),
            what: "the folder has no files".to_owned(),
            fix: "name another folder".to_owned(),
        })?;
        let names = match Lines::open(&first.path, 0, 1)?.next()? {
            Some(line) => match line.object() {
                Ok(object) => object.keys().cloned().collect(),
                Err(what) => {
                    return Err(SourceError::Input {
                        input: first.path.to_path_buf(),
                        what: format!("its first line, which names the columns, {what}"),
                        fix: "fix the line".to_owned(),
                    });
                }
            },
            None => Vec::new(),
        };
        let server = Arc::new(JsonServer::new(files.len()));
        Ok(JsonFolder {
            files,
            form: Arc::new(JsonForm {
                names,
                stop: stop.clone(),
                pace: Arc::new(Pace::new(rate_bytes_max)),
                server,
                flaw,
            }),
            has_cut: AtomicBool::new(false),
            has_marks: false,
        })
    }

    /// Takes the marks of a stopped run. They do not change which files are inputs.
    pub fn take_marks(&mut self, marks: &[String]) {
        self.has_marks = !marks.is_empty();
    }
}

/// The state of a file, from the system.
fn state_of(path: &Path) -> Result<InputState, SourceError> {
    use std::os::unix::fs::MetadataExt;
    let unreadable = |cause| SourceError::Unreadable {
        path: path.to_path_buf(),
        cause,
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let modified = metadata.modified().map_err(unreadable)?;
    let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(InputState {
        size_bytes: metadata.len(),
        modified_ns: modified.as_nanos() as i64,
        mark: format!("{}:{}", metadata.ctime(), metadata.ctime_nsec()),
    })
}

impl JsonFile {
    /// Refuses a file that has changed since the folder was opened.
    fn check_unchanged(&self, flaw: Flaw) -> Result<(), SourceError> {
        if flaw == Flaw::ReadsWhatChanged {
            return Ok(());
        }
        let now = state_of(&self.path);
        if now.is_err() && flaw == Flaw::NamesNoFile {
            return Err(SourceError::Input {
                input: PathBuf::from("a file"),
                what: "it cannot be read".to_owned(),
                fix: "check the folder".to_owned(),
            });
        }
        match now? == self.state {
            true => Ok(()),
            false => Err(SourceError::Changed {
                path: self.path.to_path_buf(),
                what: "it was written again".to_owned(),
            }),
        }
    }
}

impl Input for JsonFile {
    fn index(&self) -> usize {
        self.index
    }

    fn name(&self) -> &Arc<Path> {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.state.size_bytes
    }

    fn modified_ns(&self) -> i64 {
        self.state.modified_ns
    }

    fn mark(&self) -> String {
        self.state.mark.clone()
    }

    fn state_now(&self) -> Option<InputState> {
        match self.flaw {
            Flaw::FindsNoChange => Some(self.state.clone()),
            _ => state_of(&self.path).ok(),
        }
    }

    fn identity(&self) -> Vec<String> {
        match self.flaw {
            Flaw::NamesTwoAlike => vec!["a file".to_owned()],
            _ => vec![self.path.display().to_string()],
        }
    }

    fn is_shareable(&self) -> bool {
        true
    }

    /// No row of a file is in another file.
    fn is_loaded_alone_again(&self) -> bool {
        true
    }
}

impl Source for JsonFolder {
    fn describe(&self) -> String {
        let secret = match self.form.flaw {
            Flaw::TellsSecret => " (password hunter2)",
            _ => "",
        };
        format!("{} JSON files{secret}", self.files.len())
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        let names = self.form.names.iter();
        let more = (self.form.flaw == Flaw::HasNoSuchColumn).then_some("more");
        let names = names.map(String::as_str).chain(more);
        let column = |name: &str| SourceColumn {
            name: name.to_owned(),
            data_type: Some(arrow_schema::DataType::Utf8),
            is_uuid: false,
            native: None,
            declared: None,
        };
        Ok(names.map(column).collect())
    }

    /// The form of a column: its value in a line of JSON.
    fn native_forms(&self) -> Option<Vec<NativeType>> {
        let form = |column: SourceColumn| NativeType {
            form: format!("{} of a line of JSON", column.name),
            limit: None,
            sql: "text".to_owned(),
            as_text: String::new(),
        };
        Some(self.columns().ok()?.into_iter().map(form).collect())
    }

    fn input_count(&self) -> usize {
        self.files.len()
    }

    fn input(&self, index: usize) -> Arc<dyn Input> {
        self.files[index].clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        let size_bytes = self.files[input].state.size_bytes;
        SourceSplit {
            input,
            range: 0..size_bytes,
            first_record: None,
            is_shared: false,
            size_bytes,
        }
    }

    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let size_bytes = self.files[input].state.size_bytes;
        let mut splits = Vec::new();
        let flaw = self.form.flaw;
        self.has_cut.store(true, Ordering::Relaxed);
        let wanted_bytes = flaw.split_bytes(wanted_bytes.max(1));
        let mut start = flaw.first_start();
        loop {
            let end = start.saturating_add(wanted_bytes).min(size_bytes);
            splits.push(SourceSplit {
                input,
                range: start..end,
                first_record: None,
                is_shared: false,
                size_bytes: flaw.told_bytes(end - start),
            });
            if end == size_bytes {
                return Ok(splits);
            }
            start = end;
        }
    }

    fn needs_locate(&self, _input: usize) -> bool {
        true
    }

    /// One pass over the lines of the file: a line belongs to the split in which its first byte lies.
    fn locate(&self, splits: &mut [SourceSplit], _threads: usize) -> Result<(), SourceError> {
        // A whole file begins with the first line.
        let [first, _, ..] = splits else {
            return Ok(());
        };
        let file = &self.files[first.input];
        let mut lines = Lines::open(&file.path, 0, 1)?;
        let mut next = lines.next()?;
        for split in splits {
            while next
                .as_ref()
                .is_some_and(|line| line.start < split.range.start)
            {
                next = lines.next()?;
            }
            let at = next.as_ref().map(|line| (line.start, line.number));
            let (byte_offset, line) = at.unwrap_or((file.state.size_bytes, lines.number()));
            split.first_record = Some(RecordStart { byte_offset, line });
        }
        Ok(())
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(Box::new(JsonStream::new(self, settings.chunk_bytes)))
    }

    fn share(
        &self,
        split: &SourceSplit,
        settings: ShareSettings,
        finished: &[Range<u64>],
    ) -> Result<Box<dyn SharedSplit>, SourceError> {
        let file = Arc::clone(&self.files[split.input]);
        let parts = Parts::of(file, Arc::clone(&self.form), settings, finished)?;
        Ok(Box::new(parts))
    }

    fn sampler(&self) -> Option<Arc<dyn SessionSampler>> {
        Some(self.form.server.clone())
    }

    fn hazards(&self, _expected: &ExpectedReading) -> Result<Vec<Finding>, SourceError> {
        let fix = match self.form.flaw {
            Flaw::TellsNoFix => "",
            _ => "buy another one",
        };
        Ok(vec![
            Finding::hurts("the server of lines is a toy", fix),
            Finding::tells("the server of lines has no clock"),
        ])
    }

    fn pace(&self) -> Option<&Arc<Pace>> {
        let pace = &self.form.pace;
        pace.is_limited().then_some(pace)
    }

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        let path = &self.files[input].path;
        let unreadable = |cause| SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        };
        let mut text = Vec::new();
        let mut file = fs::File::open(path).map_err(unreadable)?;
        file.read_to_end(&mut text).map_err(unreadable)?;
        let hash_of = |split: &SplitContent| {
            let mut hash = ContentHash::default();
            if let Some(range) = &split.text_range {
                hash.add(text.get(range.start as usize..range.end as usize)?);
            }
            Some(hash.take())
        };
        let is_same = |split: &SplitContent| hash_of(split) == split.hash;
        let trusts_all = match self.form.flaw {
            Flaw::FindsNoOtherContent => !self.has_marks,
            Flaw::TrustsMarks => self.has_marks,
            _ => false,
        };
        Ok(trusts_all || read.iter().all(is_same))
    }
}
