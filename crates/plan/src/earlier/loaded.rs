//! Finds out whether the inputs of a plan are loaded already: files, and tables of databases.
//!
//! A file counts as loaded if its size and time are those of the run. A table counts as loaded if its state is that of the run.
//! Each write changes the state; then the rows are read again, and must have the hashes that the run has recorded. Tables whose
//! rows are replaced or merged are loaded again instead.
//!
//! A flow that replaces is loaded only if the newest run of its target had the same package. Another package may have appended
//! its rows, so older rows may still be there.

use std::sync::Arc;

use inrush_rows::ids::RunId;
use inrush_source::{Input, Source};

use crate::earlier::file_index::FileIndex;
use crate::error::PlanError;
use crate::ledger::SwitchedFile;

/// The files of a flow, which are looked up among the files that were switched in.
pub struct WantedFiles<'a> {
    /// The flow's target.
    pub target: String,
    /// The origin of their rows.
    pub source: &'a dyn Source,
    /// The hash of the package.
    pub package_hash: &'a str,
    /// True if its rows replace all others.
    pub replaces: bool,
    /// True if its rows are merged into the target by a key.
    pub merges: bool,
    /// The files, each once.
    pub files: Vec<&'a Arc<dyn Input>>,
    /// True if the target still has the rows of such a file.
    pub holds: Box<dyn Fn(&SwitchedFile) -> bool + 'a>,
}

impl WantedFiles<'_> {
    /// True if after a second load each row is in the target once, in its present state.
    fn renews(&self) -> bool {
        self.replaces || (self.merges && self.has_snapshot())
    }

    /// True if some are tables, which each command reads at another snapshot.
    pub fn has_snapshot(&self) -> bool {
        self.files.iter().any(|file| file.is_snapshot())
    }
}

/// The part of a plan's files that earlier runs have loaded in their present state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// All files. The number is that of the newest of the runs.
    All(RunId),
    /// All files of these flows, by the flows' indices. The files of the other flows are to be loaded.
    Flows(Vec<usize>),
}

/// Finds the files of a plan among those that runs have switched in.
pub struct LoadedFiles<'a> {
    flows: &'a [WantedFiles<'a>],
    found: Vec<FoundOfFlow>,
    /// A table counts as loaded even if it has changed since.
    snapshots_may_differ: bool,
}

/// The loaded files of a flow.
#[derive(Default)]
struct FoundOfFlow {
    /// Created when the first file of the flow's target is seen.
    index: Option<FileIndex>,
    files: Vec<FoundFile>,
    /// The newest run that has loaded into the target.
    newest_run: Option<RunId>,
    /// True if the target may have other rows beside those of the flow's files: the run has loaded a file that the flow does not
    /// have, or it had another package.
    has_others: bool,
    /// True if files of the flow were loaded as they are now, but the target no longer has their rows.
    has_lost: bool,
    /// True if files of the flow were loaded as they are now, but by another package than this one.
    by_other_package: bool,
}

/// The ledger's facts of a planned file.
#[derive(Clone, Copy, Default)]
struct FoundFile {
    /// The newest run that has loaded the file as it is now, and whose rows of the file still exist.
    loaded_by: Option<RunId>,
    /// The run whose records of the file were read last, and whether all of these match the file as it is now.
    seen_last: Option<(RunId, bool)>,
    /// If the file is a table: the newest run that has loaded it in another state, and whose rows still exist.
    loaded_before_by: Option<RunId>,
    /// The file is a table, and its rows differ from the rows that this run loaded.
    is_changed: bool,
}

/// A table that may have changed since it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedTable {
    /// The index of its flow.
    pub flow: usize,
    /// Its index among the files of the flow.
    pub file: usize,
    /// The run that has loaded it.
    pub run_id: RunId,
}

impl FoundFile {
    /// The ledger has one row for each range of a file. The file counts as loaded only if all of them match the file as
    /// it is now.
    fn see(&mut self, run_id: RunId, is_same: bool) {
        match &mut self.seen_last {
            Some((run, all_same)) if *run == run_id => *all_same &= is_same,
            _ => {
                self.settle();
                self.seen_last = Some((run_id, is_same));
            }
        }
    }

    fn settle(&mut self) {
        if let Some((run_id, true)) = self.seen_last.take() {
            self.loaded_by = self.loaded_by.max(Some(run_id));
        }
    }
}

impl<'a> LoadedFiles<'a> {
    /// A search for the files of these flows.
    pub fn new(flows: &'a [WantedFiles<'a>]) -> LoadedFiles<'a> {
        LoadedFiles {
            flows,
            found: flows.iter().map(|_| FoundOfFlow::default()).collect(),
            snapshots_may_differ: false,
        }
    }

    /// A search for the files of these flows after the command that loaded them was killed after its switch. Tables count as
    /// loaded even if they have changed since.
    pub fn of_killed(flows: &'a [WantedFiles<'a>]) -> LoadedFiles<'a> {
        LoadedFiles {
            snapshots_may_differ: true,
            ..LoadedFiles::new(flows)
        }
    }

    /// Notes a file, or a range of it, that a run has switched into a target. The target was dropped or emptied since then.
    pub fn see_gone(&mut self, switched: &SwitchedFile) {
        for (flow, found) in self.flows.iter().zip(&mut self.found) {
            if flow.target != switched.target {
                continue;
            }
            let index = found
                .index
                .get_or_insert_with(|| FileIndex::new(&flow.files));
            let file = index.find(&switched.file_key);
            found.has_lost |= file.is_some_and(|at| is_unchanged(&**flow.files[at], switched));
        }
    }

    /// Notes a file, or a range of it, that a run has switched in. The newest run comes first, and all files of a run
    /// before those of the next.
    pub fn see(&mut self, switched: &SwitchedFile) {
        for (flow, found) in self.flows.iter().zip(&mut self.found) {
            if flow.target != switched.target {
                continue;
            }
            let newest_run = *found.newest_run.get_or_insert(switched.run_id);
            let is_newest = newest_run == switched.run_id;
            // The rows of the newest run replaced older rows.
            if flow.replaces && !is_newest {
                continue;
            }
            let index = found
                .index
                .get_or_insert_with(|| FileIndex::new(&flow.files));
            found.files.resize(flow.files.len(), FoundFile::default());
            found.has_others |= is_newest && flow.package_hash != switched.package_hash;
            match index.find(&switched.file_key) {
                Some(at) => {
                    let file = &**flow.files[at];
                    let is_same = is_unchanged(file, switched)
                        || (self.snapshots_may_differ && file.is_snapshot());
                    let holds = (flow.holds)(switched);
                    found.has_lost |= is_same && !holds;
                    found.files[at].see(switched.run_id, is_same && holds);
                    let is_other = flow.package_hash != switched.package_hash;
                    found.by_other_package |= is_newest && is_same && holds && is_other;
                    if file.is_snapshot() && holds && !is_same {
                        let before = &mut found.files[at].loaded_before_by;
                        *before = (*before).max(Some(switched.run_id));
                    }
                }
                None => found.has_others |= is_newest,
            }
        }
    }

    /// The tables that may have changed since a run has loaded them. A table is left out if a second load would not leave its
    /// rows in the target twice.
    pub fn tables_to_compare(&mut self) -> Vec<LoadedTable> {
        let mut tables = Vec::new();
        for (flow_index, (flow, found)) in self.flows.iter().zip(&mut self.found).enumerate() {
            if flow.renews() {
                continue;
            }
            for (file_index, file) in found.files.iter_mut().enumerate() {
                file.settle();
                if let Some(run_id) = file.loaded_before_by
                    && file.loaded_by.is_none()
                {
                    tables.push(LoadedTable {
                        flow: flow_index,
                        file: file_index,
                        run_id,
                    });
                }
            }
        }
        tables
    }

    /// Takes the result of a comparison: the table has the rows that the run has loaded, or others.
    pub fn settle_table(&mut self, table: &LoadedTable, is_same: bool) {
        let found = &mut self.found[table.flow].files[table.file];
        match is_same {
            true => found.loaded_by = Some(table.run_id),
            false => found.is_changed = true,
        }
    }

    /// One note for each target that was emptied or created again since it had rows of these files: they are loaded
    /// again.
    pub fn lost_rows(&self) -> Vec<String> {
        let flows = self.flows.iter().zip(&self.found);
        let lost = flows.filter(|(flow, found)| found.has_lost && !flow.replaces);
        lost.map(|(flow, _)| {
            format!(
                "{} no longer has the rows that an earlier run loaded from these files: they were \
                 deleted, or the table was created again. The files are loaded again",
                flow.target
            )
        })
        .collect()
    }

    /// One note for each target that has the rows of these files from a run before the package was changed.
    pub fn of_other_packages(&self) -> Vec<String> {
        let flows = self.flows.iter().zip(&self.found);
        let other = flows.filter(|(_, found)| found.by_other_package);
        other
            .map(|(flow, _)| {
                format!(
                    "{} has these rows as they were loaded before the package was changed (its columns, its steps or other settings). \
                     To load them as the package says now, set mode = \"replace\" (--mode replace), or remove the old rows and run \
                     with --again",
                    flow.target
                )
            })
            .collect()
    }

    /// The part of the plan's files that runs have loaded. A flow whose files are all loaded in their present state is
    /// left out if the rows of the other flows are to be replaced or merged. If another file is new and would be
    /// appended, the plan is refused, because it is not clear whether the user wants only that one.
    pub fn found(mut self) -> Result<Loaded, PlanError> {
        let mut newest: Option<RunId> = None;
        let mut loaded_files: Option<(&WantedFiles<'_>, Vec<&Arc<dyn Input>>)> = None;
        let mut first_new = None;
        let mut is_renewed = false;
        let mut left_out = Vec::new();
        for (index, (flow, found)) in self.flows.iter().zip(&mut self.found).enumerate() {
            found.files.resize(flow.files.len(), FoundFile::default());
            found.files.iter_mut().for_each(FoundFile::settle);
            let files = flow.files.iter().copied().zip(&found.files);
            if flow.renews() {
                // A second load would replace the first one, so there is nothing to refuse.
                let is_new = |(_, found): &(_, &FoundFile)| found.loaded_by.is_none();
                let is_loaded = found.newest_run.is_some() && !found.has_others;
                match is_loaded && !files.clone().any(|file| is_new(&file)) {
                    true => newest = newest.max(found.newest_run),
                    false => is_renewed |= !flow.files.is_empty(),
                }
                continue;
            }
            for (file, found) in files {
                if found.is_changed && found.loaded_by.is_none() {
                    return Err(changed(flow, &**file));
                }
                match found.loaded_by {
                    Some(run_id) => {
                        newest = newest.max(Some(run_id));
                        let (_, loaded) = loaded_files.get_or_insert((flow, Vec::new()));
                        loaded.push(file);
                    }
                    None => first_new = first_new.or(Some((flow, file))),
                }
            }
            if !flow.files.is_empty() {
                left_out.push(index);
            }
        }
        match (loaded_files, first_new) {
            (Some((flow, loaded)), Some((lacking, new))) => {
                Err(partly(flow, &loaded, lacking, &**new))
            }
            (None, Some(_)) => Ok(Loaded::Flows(Vec::new())),
            (_, None) => Ok(match (is_renewed, newest) {
                (false, Some(newest)) => Loaded::All(newest),
                (false, None) => Loaded::Flows(Vec::new()),
                (true, _) => Loaded::Flows(left_out),
            }),
        }
    }
}

/// True if an input is the same as when a run switched it in.
fn is_unchanged(file: &dyn Input, switched: &SwitchedFile) -> bool {
    switched.file_bytes == file.size_bytes()
        && switched.file_modified_ns == file.modified_ns()
        && (!file.is_snapshot() || switched.file_state == file.mark())
}

/// The refusal to load a table again after it has changed.
fn changed(flow: &WantedFiles<'_>, file: &dyn Input) -> PlanError {
    PlanError::Target {
        target: flow.target.clone(),
        what: format!(
            "has the rows that an earlier run loaded from {name}, but {name} has other rows now: a load would add \
             all of them to the old ones",
            name = file.name().display()
        ),
        hint: "replace the old rows with mode = \"replace\" (--mode replace), or load only new rows with `since` in a package; \
               --again adds all rows once more, with mode = \"append\" (--mode append)"
            .to_owned(),
    }
}

/// The refusal to load a mix of new files and files that are loaded already. `lacking` is the flow of a new file.
fn partly(
    flow: &WantedFiles<'_>,
    loaded: &[&Arc<dyn Input>],
    lacking: &WantedFiles<'_>,
    new: &dyn Input,
) -> PlanError {
    let new = new.name().display();
    let is_same = flow.target == lacking.target;
    PlanError::Target {
        target: flow.target.clone(),
        what: format!(
            "has {} of the files already, by earlier runs of this package ({}), {}",
            loaded.len(),
            shortened(loaded),
            match is_same {
                true => format!("but not others, such as {new}"),
                false => format!("but {} does not have {new}", lacking.target),
            }
        ),
        hint: match is_same {
            true => "name only the new files; or load all files with --again, which adds the loaded ones once more"
                .to_owned(),
            false => format!(
                "load {} with a separate package; or load all files with --again, which adds the loaded ones once more",
                lacking.target
            ),
        },
    }
}

fn shortened(files: &[&Arc<dyn Input>]) -> String {
    const SHOWN: usize = 3;
    let shown = files.iter().take(SHOWN);
    let names: Vec<String> = shown
        .map(|file| file.name().display().to_string())
        .collect();
    let mut text = names.join(", ");
    if files.len() > SHOWN {
        text.push_str(&format!(" and {} more", files.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::file_key;
    use crate::reading::test_source::{TestInput, TestSource};

    fn no_source() -> TestSource {
        TestSource::new(TestInput::new("none", 0))
    }

    /// A file as run 7 has switched it in, with 10 bytes.
    fn switched(target: &str, file: &dyn Input, state: &str) -> SwitchedFile {
        SwitchedFile {
            run_id: RunId::new(7),
            package_hash: "hash".to_owned(),
            target: target.to_owned(),
            file_key: file_key(file),
            file_bytes: 10,
            file_modified_ns: file.modified_ns(),
            file_state: state.to_owned(),
            rows_loaded: 1,
        }
    }

    /// A flow with one input.
    fn wanted<'a>(
        target: &str,
        source: &'a TestSource,
        input: &'a Arc<dyn Input>,
    ) -> WantedFiles<'a> {
        WantedFiles {
            target: target.to_owned(),
            source,
            package_hash: "hash",
            replaces: false,
            merges: false,
            files: vec![input],
            holds: Box::new(|_| true),
        }
    }

    /// The result for the files of two flows, which had 10 bytes each when they were loaded.
    fn found_of_two(sizes: [u64; 2], replaces: [bool; 2]) -> Result<Loaded, PlanError> {
        let input = |name, size| Arc::new(TestInput::new(name, size)) as Arc<dyn Input>;
        let files = [input("a.csv", sizes[0]), input("b.csv", sizes[1])];
        let source = no_source();
        let flow = |at: usize| WantedFiles {
            replaces: replaces[at],
            ..wanted(["a", "b"][at], &source, &files[at])
        };
        let flows = [flow(0), flow(1)];
        let mut loaded = LoadedFiles::new(&flows);
        for (target, file) in ["a", "b"].into_iter().zip(&files) {
            loaded.see(&switched(target, &**file, ""));
        }
        loaded.found()
    }

    #[test]
    fn flows_that_are_loaded_are_left_out_beside_flows_that_replace() {
        let found = |sizes, replaces| found_of_two(sizes, replaces).expect("no files to refuse");
        for replaces in [[true, true], [true, false], [false, false]] {
            assert_eq!(found([10, 10], replaces), Loaded::All(RunId::new(7)));
        }
        let all = Loaded::Flows(Vec::new());
        assert_eq!(found([10, 11], [true, true]), all);
        assert_eq!(found([10, 11], [true, false]), all);
        // Appended rows are not appended again.
        assert_eq!(found([10, 11], [false, true]), Loaded::Flows(vec![0]));
        assert_eq!(found([11, 10], [true, false]), Loaded::Flows(vec![1]));
        assert!(found_of_two([10, 11], [false, false]).is_err());
    }

    /// What is loaded of a file, if its state was `state` then. A comparison of its rows has the result `is_same`.
    fn found_of_one(
        input: TestInput,
        [replaces, merges]: [bool; 2],
        state: &str,
        is_same: bool,
    ) -> Result<Loaded, PlanError> {
        let file = Arc::new(input) as Arc<dyn Input>;
        let source = no_source();
        let flows = [WantedFiles {
            replaces,
            merges,
            ..wanted("t", &source, &file)
        }];
        let mut loaded = LoadedFiles::new(&flows);
        loaded.see(&switched("t", &*file, state));
        for table in loaded.tables_to_compare() {
            loaded.settle_table(&table, is_same);
        }
        loaded.found()
    }

    #[test]
    fn a_table_in_the_same_state_is_loaded() {
        let run = Loaded::All(RunId::new(7));
        for mode in [[false, false], [true, false], [false, true]] {
            let found = found_of_one(TestInput::table("t", 10), mode, "", false);
            assert_eq!(found.expect("it is not refused"), run, "{mode:?}");
        }
        // The state of a file is that of its inode. Size and time show whether it has changed.
        let found = found_of_one(TestInput::new("t", 10), [false, false], "inode", false);
        assert_eq!(found.expect("it is not refused"), run);
    }

    #[test]
    fn a_table_in_another_state_is_compared_or_loaded_again() {
        let table = || TestInput::table("t", 10);
        for renewed in [[true, false], [false, true]] {
            let found = found_of_one(table(), renewed, "before", true);
            let none = Loaded::Flows(Vec::new());
            assert_eq!(found.expect("it is not refused"), none, "{renewed:?}");
        }
        let same = found_of_one(table(), [false, false], "before", true);
        let all = Loaded::All(RunId::new(7));
        assert_eq!(same.expect("it is not refused"), all);
        let changed = found_of_one(table(), [false, false], "before", false);
        let error = changed.expect_err("its rows would be there twice");
        assert!(error.to_string().contains("has other rows now"), "{error}");
    }

    #[test]
    fn files_that_another_package_has_loaded_are_replaced_but_not_appended_again() {
        let file = Arc::new(TestInput::new("t", 10)) as Arc<dyn Input>;
        let source = no_source();
        for (replaces, expected) in [
            (true, Loaded::Flows(Vec::new())),
            (false, Loaded::All(RunId::new(7))),
        ] {
            let flows = [WantedFiles {
                replaces,
                package_hash: "another",
                ..wanted("t", &source, &file)
            }];
            let mut loaded = LoadedFiles::new(&flows);
            loaded.see(&switched("t", &*file, ""));
            assert_eq!(loaded.found().expect("no files to refuse"), expected);
        }
    }

    #[test]
    fn a_table_that_changed_after_the_kill_is_what_the_killed_command_has_loaded() {
        let none = Loaded::Flows(Vec::new());
        for (input, expected) in [
            (TestInput::table("t", 11), Loaded::All(RunId::new(7))),
            (TestInput::new("t", 11), none.clone()),
        ] {
            let file = Arc::new(input) as Arc<dyn Input>;
            let source = no_source();
            let flows = [wanted("t", &source, &file)];
            let run = |mut loaded: LoadedFiles<'_>| {
                loaded.see(&switched("t", &*file, ""));
                loaded.found().expect("no files to refuse")
            };
            assert_eq!(run(LoadedFiles::new(&flows)), none);
            assert_eq!(run(LoadedFiles::of_killed(&flows)), expected);
        }
    }
}
