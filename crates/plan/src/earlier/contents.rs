//! Checks that a file still has the text that an earlier attempt has loaded from it.
//!
//! A file whose size, time of change, inode and inode change time are all the same was not written to, because no
//! program can set the last one. It is not read again. If only the size is the same (after `touch`, `chmod` or a copy
//! to its old path), the committed ranges are read again, and their hashes are compared with those computed during the
//! load.
//!
//! The state of a table or query tells only that something was written. Its splits are compared by as many threads as the run
//! has streams; the source keeps to its own limits of connections and bytes. Files are read one after the other: decoding
//! several at a time would take more memory than the plan states.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use inrush_source::{Input, InputState, Source, SourceError, SplitContent};
use inrush_system::threads::on_threads;

use crate::identity;
use crate::ledger::SplitRecord;

/// The result of comparing an input with the text that an earlier attempt has loaded from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It was not written to.
    Untouched,
    /// It has the same text, but another time or inode.
    Same,
    /// It has other text.
    Changed,
}

/// An input, and the splits of it that an earlier attempt has loaded.
pub struct LoadedInput<'a> {
    /// The input.
    pub input: &'a dyn Input,
    /// Its state now.
    pub state: InputState,
    /// The origin of its rows.
    pub source: &'a dyn Source,
    /// At least one.
    pub splits: Vec<SplitRecord>,
}

/// Compares files with the ledger, each file once for all plans of a run.
#[derive(Debug, Default)]
pub struct ContentChecks {
    found: Mutex<BTreeMap<String, Contents>>,
}

impl ContentChecks {
    /// Compares an input with its splits in the ledger.
    pub fn look(&self, loaded: &LoadedInput<'_>) -> Result<Contents, SourceError> {
        if let Some(known) = self.known(loaded) {
            return Ok(known);
        }
        let read: Vec<SplitContent> = loaded.splits.iter().map(content).collect();
        let is_same = loaded
            .source
            .has_same_content(loaded.input.index(), &read)?;
        Ok(self.note(loaded, is_same))
    }

    /// Compares inputs with their splits in the ledger, with this many threads. The results are in the order of the inputs.
    pub fn look_at_all(
        &self,
        all: &[LoadedInput<'_>],
        threads: usize,
    ) -> Result<Vec<Contents>, SourceError> {
        let known = |loaded: &LoadedInput<'_>| match loaded.input.is_snapshot() {
            true => Ok(self.known(loaded)),
            false => self.look(loaded).map(Some),
        };
        let mut looked: Vec<Option<Contents>> = all.iter().map(known).collect::<Result<_, _>>()?;
        let differs: Vec<AtomicBool> = all.iter().map(|_| AtomicBool::new(false)).collect();
        let open = |(at, _): &(usize, &LoadedInput<'_>)| looked[*at].is_none();
        let splits: Vec<(usize, SplitContent)> = all
            .iter()
            .enumerate()
            .filter(open)
            .flat_map(|(at, loaded)| {
                let splits = loaded.splits.iter();
                splits.map(move |split| (at, content(split)))
            })
            .collect();
        compare(all, &splits, &differs, threads)?;
        let settled = all.iter().zip(looked.iter_mut()).zip(differs);
        let settled = settled.map(|((loaded, looked), differs)| {
            looked.unwrap_or_else(|| self.note(loaded, !differs.into_inner()))
        });
        Ok(settled.collect())
    }

    /// The result of comparing, if it is known without reading.
    fn known(&self, loaded: &LoadedInput<'_>) -> Option<Contents> {
        let (state, splits) = (&loaded.state, &loaded.splits);
        let is_resized = |split: &SplitRecord| split.file_bytes != state.size_bytes;
        if splits.iter().any(is_resized) {
            return Some(Contents::Changed);
        }
        let is_untouched = |split: &SplitRecord| {
            split.file_modified_ns == state.modified_ns && split.file_state == state.mark
        };
        if splits.iter().all(is_untouched) {
            return Some(Contents::Untouched);
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(&loaded.name()).copied()
    }

    /// Keeps a result for the next plan.
    fn note(&self, loaded: &LoadedInput<'_>, is_same: bool) -> Contents {
        let contents = match is_same {
            true => Contents::Same,
            false => Contents::Changed,
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(loaded.name(), contents);
        contents
    }
}

impl LoadedInput<'_> {
    /// A name for the input in this state with these splits.
    fn name(&self) -> String {
        let file_key = identity::file_key(self.input);
        let modified = self.state.modified_ns.to_string();
        let texts = [file_key.as_str(), &self.state.mark].into_iter();
        let keys = self.splits.iter().map(|split| split.split_key.as_str());
        identity::digest(texts.chain(keys).chain([modified.as_str()]))
    }
}

fn content(split: &SplitRecord) -> SplitContent {
    SplitContent {
        start: split.byte_start,
        end: split.byte_end,
        hash: split.content_hash.clone(),
        text_range: split.text_range.clone(),
    }
}

/// Compares splits of inputs on several threads, and notes the inputs that differ. The other splits of such an input are not
/// compared.
fn compare(
    all: &[LoadedInput<'_>],
    splits: &[(usize, SplitContent)],
    differs: &[AtomicBool],
    threads: usize,
) -> Result<(), SourceError> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    on_threads(threads.min(splits.len()), &|| {
        while !has_failed.load(Ordering::Relaxed)
            && let Some((at, split)) = splits.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if differs[*at].load(Ordering::Relaxed) {
                continue;
            }
            let LoadedInput { input, source, .. } = &all[*at];
            let looked = source.has_same_content(input.index(), std::slice::from_ref(split));
            let is_same = looked.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
            differs[*at].fetch_or(!is_same, Ordering::Relaxed);
        }
        Ok(Vec::<()>::new())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;
    use std::time::Duration;

    use inrush_rows::ids::{FileKey, SplitKey, UnitKey};

    use super::*;
    use crate::ledger::Account;
    use crate::reading::test_source::{TestInput, TestSource};

    /// Longer than two threads of a slow machine take to meet.
    const LATE: Duration = Duration::from_secs(60);

    fn table(has_same_content: fn(&[SplitContent]) -> Result<bool, SourceError>) -> TestSource {
        TestSource {
            has_same_content,
            ..TestSource::new(TestInput::table("orders", 100))
        }
    }

    /// The input of a source, loaded in another state, by splits that begin at these bytes.
    fn loaded<'a>(source: &'a TestSource, starts: &[u64]) -> LoadedInput<'a> {
        let split = |start: &u64| SplitRecord {
            unit_key: UnitKey::new("unit"),
            split_key: SplitKey::new(format!("split {start}")),
            file_key: FileKey::new("file"),
            file: "orders".to_owned(),
            byte_start: *start,
            byte_end: None,
            file_bytes: 100,
            file_modified_ns: 0,
            file_state: "before".to_owned(),
            account: Account::default(),
            content_hash: None,
            text_range: None,
            tally: None,
            trailer: None,
            refused: Vec::new(),
        };
        LoadedInput {
            input: &*source.input,
            state: source.input.state(),
            source,
            splits: starts.iter().map(split).collect(),
        }
    }

    /// Waits for another thread that compares, too. The split at 1 differs.
    fn meet(read: &[SplitContent]) -> Result<bool, SourceError> {
        static COMPARED: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
        let (count, more) = &COMPARED;
        let mut compared = count.lock().unwrap_or_else(PoisonError::into_inner);
        *compared += 1;
        more.notify_all();
        let met = more.wait_timeout_while(compared, LATE, |compared| *compared < 2);
        let waited = met.unwrap_or_else(PoisonError::into_inner).1;
        assert!(!waited.timed_out(), "one thread compares alone");
        assert_eq!(read.len(), 1);
        Ok(read[0].start != 1)
    }

    #[test]
    fn splits_of_tables_are_compared_by_several_threads() {
        let source = table(meet);
        let all = [loaded(&source, &[0, 2, 3]), loaded(&source, &[1, 4])];
        let checks = ContentChecks::default();
        let expected = [Contents::Same, Contents::Changed];
        let looked = checks.look_at_all(&all, 2).expect("both are compared");
        assert_eq!(looked, expected);
        // The next plan of the run does not compare them again.
        let never = table(|_| panic!("it is known"));
        let again = [loaded(&never, &[0, 2, 3]), loaded(&never, &[1, 4])];
        let looked = checks.look_at_all(&again, 2).expect("both are known");
        assert_eq!(looked, expected);
    }

    #[test]
    fn an_error_ends_the_comparison() {
        let source = table(|_| {
            Err(SourceError::Stopped {
                path: "orders".into(),
            })
        });
        let all = [loaded(&source, &[0, 2, 3])];
        let looked = ContentChecks::default().look_at_all(&all, 4);
        assert!(
            matches!(looked, Err(SourceError::Stopped { .. })),
            "{looked:?}"
        );
    }

    #[test]
    fn inputs_of_another_size_have_changed() {
        let source = table(|_| panic!("it is known"));
        let mut resized = loaded(&source, &[0]);
        resized.splits[0].file_bytes = 99;
        let mut untouched = loaded(&source, &[0]);
        untouched.splits[0].file_state = source.input.mark();
        let looked = ContentChecks::default().look_at_all(&[resized, untouched], 4);
        let expected = vec![Contents::Changed, Contents::Untouched];
        assert_eq!(looked.expect("both are known"), expected);
    }
}
