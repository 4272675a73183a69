//! Files that were partly loaded by a stopped run and have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_rows::ids::{FileKey, RunName, UnitKey};
use inrush_source::{Input, Source};

use crate::earlier::contents::{Contents, LoadedInput};
use crate::earlier::file_index::FileIndex;
use crate::error::PlanError;
use crate::identity::{self, causes::compares_all_rows};
use crate::ledger::{SplitRecord, TouchedFile};
use crate::load_flow::LoadFlow;
use crate::options::PlanOptions;

/// Files that a stopped run has loaded, completely or in part, and that have changed since.
#[derive(Default)]
pub struct FoundFiles {
    /// Files whose text has changed.
    pub changed: Vec<ChangedFile>,
    /// Files whose text is the same, but whose time of change differs.
    pub touched: Vec<TouchedFile>,
}

/// A file whose text differs from the loaded text.
pub struct ChangedFile {
    /// The name of the file.
    pub key: FileKey,
    target: String,
    file: Arc<dyn Input>,
    before: SizeAndTime,
    /// The rows that the flow keeps of its other files depend on the rows of this file.
    decides_others: bool,
}

/// Bytes of a file, and when it was changed last, in nanoseconds since 1970.
type SizeAndTime = (u64, i64);

/// The files of a flow that are compared with their loaded text.
pub struct PlannedFiles<'a> {
    /// The flow's target.
    pub target: String,
    /// The origin of its rows.
    pub source: &'a dyn Source,
    /// The files, each once.
    pub files: Vec<&'a Arc<dyn Input>>,
    /// The keys of the flow's units.
    pub unit_keys: BTreeSet<&'a UnitKey>,
    /// The rows that the flow keeps of one file depend on the rows of its other files.
    pub compares_all_rows: bool,
}

impl<'a> PlannedFiles<'a> {
    /// The files of a flow, each once.
    pub fn of(flow: &'a LoadFlow) -> PlannedFiles<'a> {
        let reading = &flow.reading;
        PlannedFiles {
            target: reading.target.clone(),
            source: &*reading.source,
            files: flow.files(),
            unit_keys: flow.units.iter().map(|unit| &unit.key).collect(),
            compares_all_rows: compares_all_rows(reading),
        }
    }
}

/// Compares the plan's files with the records of a stopped run. The records are read one at a time; only those of files
/// whose size or time has changed are kept.
pub struct FilesBefore<'a> {
    flows: &'a [PlannedFiles<'a>],
    indexes: Vec<FileIndex>,
    /// Indexed by flow and file.
    found: Vec<Vec<FileBefore>>,
    /// Size and time of change of files that differ from the ledger, by flow and file.
    size_and_time: BTreeMap<(usize, usize), SizeAndTime>,
    /// Splits of files whose time has changed, by flow and file.
    touched: BTreeMap<(usize, usize), Vec<SplitRecord>>,
}

/// The part of a file that the stopped run has loaded.
#[derive(Clone, Copy, Default)]
struct FileBefore {
    /// A part was loaded into a unit that the plan has.
    is_planned: bool,
    /// The file's size has changed since it was loaded.
    is_resized: bool,
    /// The file's size has changed since it was loaded into a unit that the plan does not have.
    is_resized_elsewhere: bool,
}

impl<'a> FilesBefore<'a> {
    /// An index of the files of these flows.
    pub fn new(flows: &'a [PlannedFiles<'a>]) -> FilesBefore<'a> {
        let none = |flow: &PlannedFiles<'_>| vec![FileBefore::default(); flow.files.len()];
        let index = |flow: &PlannedFiles<'_>| FileIndex::new(&flow.files);
        FilesBefore {
            flows,
            indexes: flows.iter().map(index).collect(),
            found: flows.iter().map(none).collect(),
            size_and_time: BTreeMap::new(),
            touched: BTreeMap::new(),
        }
    }

    /// Takes note of a split that the stopped run has loaded.
    pub fn see(&mut self, split: &SplitRecord) {
        for (flow_index, (flow, index)) in self.flows.iter().zip(&self.indexes).enumerate() {
            let Some(at) = index.find(&split.file_key) else {
                continue;
            };
            let file = flow.files[at];
            if file.is_read_once() {
                continue;
            }
            let found = &mut self.found[flow_index][at];
            let is_resized = split.file_bytes != file.size_bytes();
            let is_planned = flow.unit_keys.contains(&split.unit_key);
            found.is_planned |= is_planned;
            match is_planned {
                true => found.is_resized |= is_resized,
                false => found.is_resized_elsewhere |= is_resized,
            }
            let is_touched = is_planned
                && (split.file_modified_ns != file.modified_ns()
                    || split.file_state != file.mark());
            if is_resized || is_touched {
                let was = (split.file_bytes, split.file_modified_ns);
                self.size_and_time.entry((flow_index, at)).or_insert(was);
            }
            if is_touched && !is_resized {
                let splits = self.touched.entry((flow_index, at)).or_default();
                splits.push(SplitRecord {
                    // These fields are not needed to compare the text.
                    unit_key: UnitKey::new(""),
                    file_key: FileKey::new(""),
                    file: String::new(),
                    tally: None,
                    trailer: None,
                    refused: Vec::new(),
                    ..split.clone()
                });
            }
        }
    }

    /// Compares the text of the files whose time has changed.
    pub fn look(mut self, options: &PlanOptions<'_>) -> Result<FoundFiles, PlanError> {
        let mut found = FoundFiles::default();
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|place, _| {
            let before = self.before(*place);
            before.is_planned && !before.is_resized
        });
        let mut loaded = Vec::with_capacity(touched.len());
        let mut places = Vec::with_capacity(touched.len());
        for (place, splits) in touched {
            let (flow, file) = self.flow_and_file(place);
            places.push(place);
            loaded.push(LoadedInput {
                input: &**file,
                state: file.state(),
                source: flow.source,
                splits,
            });
        }
        let looked = options.contents.look_at_all(&loaded, options.streams)?;
        let looked: BTreeMap<(usize, usize), Contents> = places.into_iter().zip(looked).collect();
        for (place, size_and_time) in &self.size_and_time {
            let (flow, file) = self.flow_and_file(*place);
            let before = self.before(*place);
            let contents = match before.is_planned {
                // Rows of units that the plan does not have are not kept.
                false if before.is_resized_elsewhere => Contents::Changed,
                true if before.is_resized => Contents::Changed,
                _ => looked.get(place).copied().unwrap_or(Contents::Untouched),
            };
            match contents {
                Contents::Untouched => {}
                // The ledger keeps the state of the input when it was loaded, so the next resumed run compares the input again.
                Contents::Same if file.is_loaded_alone_again() => {}
                Contents::Same => found.touched.push(TouchedFile {
                    file_key: identity::file_key(&**file),
                    modified_ns: file.modified_ns(),
                    state: file.mark(),
                }),
                Contents::Changed => found.changed.push(ChangedFile {
                    key: identity::file_key(&**file),
                    target: flow.target.clone(),
                    file: Arc::clone(file),
                    before: *size_and_time,
                    decides_others: flow.compares_all_rows,
                }),
            }
        }
        Ok(found)
    }

    fn before(&self, (flow, at): (usize, usize)) -> FileBefore {
        self.found[flow][at]
    }

    fn flow_and_file(
        &self,
        (flow, at): (usize, usize),
    ) -> (&'a PlannedFiles<'a>, &'a Arc<dyn Input>) {
        let flow = &self.flows[flow];
        (flow, flow.files[at])
    }
}

impl ChangedFile {
    /// True if the input is loaded again even without `--again`. This is so for tables, because programs write to them all the
    /// time. Only inputs with the same rows in the new snapshot are kept, so all rows of the run are those of the new snapshot.
    /// A changed file is refused instead, because a file should not change while it is loaded.
    pub fn is_loaded_again(&self) -> bool {
        self.file.is_snapshot()
    }
}

/// The note about changed tables, which are loaded again; `None` if there are none.
pub fn note(changed: &[ChangedFile]) -> Option<String> {
    const SHOWN: usize = 5;
    let again: Vec<&ChangedFile> = changed
        .iter()
        .filter(|file| file.is_loaded_again())
        .collect();
    let first = again.first()?;
    let shown = again.iter().take(SHOWN);
    let names: Vec<String> = shown
        .map(|changed| changed.file.name().display().to_string())
        .collect();
    let more = match again.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let kind = first.file.kind();
    Some(format!(
        "{} of the stopped run changed since, and {} loaded again: {}{more}",
        kind.counted(again.len()),
        match again.len() {
            1 => "is",
            _ => "are",
        },
        names.join("; ")
    ))
}

/// Refuses files that a stopped run has loaded in part and that have changed, because rows of the old and the new text
/// would be mixed. A file without loaded rows may change. `removes_units_alone`: the destination can remove the rows of one unit
/// and keep the others.
pub fn refuse(
    run: &RunName,
    changed: &[ChangedFile],
    removes_units_alone: bool,
) -> Result<(), PlanError> {
    let refused = changed.iter().filter(|file| !file.is_loaded_again());
    let changed: Vec<&ChangedFile> = refused.collect();
    let Some(first) = changed.first() else {
        return Ok(());
    };
    let again = match changed.iter().any(|file| file.decides_others) {
        true => {
            "or load all files of the flow again with --again, because `distinct_on` compares the rows of all files"
        }
        false if !removes_units_alone => {
            "or load all files of the target again with --again, because rows of single files cannot be removed from its \
             staging table"
        }
        false => "or load the changed files again and keep the rest with --again",
    };
    let ChangedFile {
        target,
        file,
        before,
        ..
    } = *first;
    let others = match changed.len() {
        1 => String::new(),
        count => format!("; {} more changed, too", file.kind().counted(count - 1)),
    };
    let was = *before;
    let how = match was == (file.size_bytes(), file.modified_ns()) {
        true => format!(
            "it has the same size and time as before ({} bytes, {}), but its text changed",
            was.0,
            time_words(was.1)
        ),
        false => format!(
            "it had {} bytes and the time {}, and now it has {} bytes and the time {}",
            was.0,
            time_words(was.1),
            file.size_bytes(),
            time_words(file.modified_ns())
        ),
    };
    Err(PlanError::Target {
        target: target.clone(),
        what: format!(
            "has rows that the stopped run {} staged, and {} changed since: {how}{others}",
            run,
            file.name().display(),
        ),
        hint: format!(
            "restore the file; {again}; or start from the beginning after `inrush cleanup`"
        ),
    })
}

fn time_words(nanoseconds: i64) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds.into())
        .map_or_else(|_| nanoseconds.to_string(), |moment| moment.to_string())
}
