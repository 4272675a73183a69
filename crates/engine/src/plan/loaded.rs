//! Finds out whether the files of a plan are loaded already.

use std::sync::Arc;

use inrush_rows::ids::RunId;
use inrush_source::Input;

use super::error::PlanError;
use super::file_index::FileIndex;
use crate::ledger::SwitchedFile;

/// The files of a flow, which are looked up among the files that were switched in.
pub struct WantedFiles<'a> {
    /// The flow's target.
    pub target: String,
    /// True if its rows replace all others.
    pub replaces: bool,
    /// The files, each once.
    pub files: Vec<&'a Arc<dyn Input>>,
    /// True if the target still has the rows of such a file.
    pub holds: Box<dyn Fn(&SwitchedFile) -> bool + 'a>,
}

impl WantedFiles<'_> {
    /// True if some are tables, of which each command reads another moment.
    pub fn has_snapshot(&self) -> bool {
        self.files.iter().any(|file| file.is_snapshot())
    }
}

/// Finds the files of a plan among those that runs have switched in.
pub struct LoadedFiles<'a> {
    flows: &'a [WantedFiles<'a>],
    found: Vec<FoundOfFlow>,
    /// A table counts as loaded, whatever has changed in it since.
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
    /// True if the run has loaded a file that the flow does not have.
    has_others: bool,
    /// True if files of the flow were loaded as they are now, but the target no longer has their rows.
    has_lost: bool,
}

/// The ledger's facts of a planned file.
#[derive(Clone, Copy, Default)]
struct FoundFile {
    /// The newest run that has loaded the file as it is now, and whose rows of the file still exist.
    loaded_by: Option<RunId>,
    /// The last run seen that has loaded the file, and whether it has loaded all of it as it is now.
    seen_last: Option<(RunId, bool)>,
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
    /// For the files of these flows.
    pub fn new(flows: &'a [WantedFiles<'a>]) -> LoadedFiles<'a> {
        LoadedFiles {
            flows,
            found: flows.iter().map(|_| FoundOfFlow::default()).collect(),
            snapshots_may_differ: false,
        }
    }

    /// For the files of these flows, among those of a command that was killed when they were in their targets: tables may
    /// have changed since.
    pub fn of_killed(flows: &'a [WantedFiles<'a>]) -> LoadedFiles<'a> {
        LoadedFiles {
            snapshots_may_differ: true,
            ..LoadedFiles::new(flows)
        }
    }

    /// Notes a file, or a range of it, that a run has switched into a target which was since dropped or emptied.
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
            match index.find(&switched.file_key) {
                Some(at) => {
                    let file = &**flow.files[at];
                    let may_differ = self.snapshots_may_differ && file.is_snapshot();
                    // Rows of a table may have changed where its size has not; to replace them once more is what is asked.
                    let is_renewed = flow.replaces && file.is_snapshot();
                    let is_same = may_differ || (is_unchanged(file, switched) && !is_renewed);
                    let holds = (flow.holds)(switched);
                    found.has_lost |= is_same && !holds;
                    found.files[at].see(switched.run_id, is_same && holds);
                }
                None => found.has_others |= is_newest,
            }
        }
    }

    /// One note for each target that was emptied or created again since it had rows of these files: they are loaded
    /// again.
    pub fn lost_rows(&self) -> Vec<String> {
        let flows = self.flows.iter().zip(&self.found);
        let lost = flows.filter(|(flow, found)| found.has_lost && !flow.replaces);
        lost.map(|(flow, _)| {
            format!(
                "{} does not have the rows that an earlier run loaded from these files: they were deleted since, or \
                 it is another table now. The files are loaded again",
                flow.target
            )
        })
        .collect()
    }

    /// The run that has loaded all of the plan's files as they are now. If it has loaded only some of them, the plan is
    /// refused: the user may or may not want only the others, and rows must not be loaded twice.
    pub fn run(mut self) -> Result<Option<RunId>, PlanError> {
        let mut newest: Option<RunId> = None;
        let mut loaded_files: Option<(&WantedFiles<'_>, Vec<&Arc<dyn Input>>)> = None;
        let mut first_new = None;
        for (flow, found) in self.flows.iter().zip(&mut self.found) {
            found.files.resize(flow.files.len(), FoundFile::default());
            found.files.iter_mut().for_each(FoundFile::settle);
            let files = flow.files.iter().copied().zip(&found.files);
            if flow.replaces {
                // A second load would replace the first one, so there is nothing to refuse.
                let is_new = |(_, found): &(_, &FoundFile)| found.loaded_by.is_none();
                let is_loaded = found.newest_run.is_some() && !found.has_others;
                match is_loaded && !files.clone().any(|file| is_new(&file)) {
                    true => newest = newest.max(found.newest_run),
                    false => first_new = first_new.or(flow.files.first().copied()),
                }
                continue;
            }
            for (file, found) in files {
                match found.loaded_by {
                    Some(run_id) => {
                        newest = newest.max(Some(run_id));
                        let (_, loaded) = loaded_files.get_or_insert((flow, Vec::new()));
                        loaded.push(file);
                    }
                    None => first_new = first_new.or(Some(file)),
                }
            }
        }
        let (flow, loaded, new) = match (loaded_files, first_new) {
            (_, None) => return Ok(newest),
            // Flows that replace rows are loaded again together with the new files.
            (None, Some(_)) => return Ok(None),
            (Some((flow, loaded)), Some(new)) => (flow, loaded, new),
        };
        Err(PlanError::Target {
            target: flow.target.clone(),
            what: format!(
                "has {} of the files already, by earlier runs of this package ({}), and others not, \
                 such as {}",
                loaded.len(),
                shortened(&loaded),
                new.name().display()
            ),
            hint: "name only the files that are new; or load all of them, those once more, with \
                   --again"
                .to_owned(),
        })
    }
}

/// True if an input is the same as when a run switched it in.
fn is_unchanged(file: &dyn Input, switched: &SwitchedFile) -> bool {
    switched.file_bytes == file.size_bytes() && switched.file_modified_ns == file.modified_ns()
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
    use crate::plan::identity::file_key;
    use crate::plan::test_source::TestInput;

    /// A flow with one input.
    fn wanted<'a>(target: &str, replaces: bool, input: &'a Arc<dyn Input>) -> WantedFiles<'a> {
        WantedFiles {
            target: target.to_owned(),
            replaces,
            files: vec![input],
            holds: Box::new(|_| true),
        }
    }

    /// An input that was switched in when it had ten bytes.
    fn switched(target: &str, input: &Arc<dyn Input>) -> SwitchedFile {
        SwitchedFile {
            run_id: RunId::new(7),
            target_oids: Vec::new(),
            target: target.to_owned(),
            file_key: file_key(&**input),
            file_bytes: 10,
            file_modified_ns: input.modified_ns(),
            rows_loaded: 1,
        }
    }

    /// The run that has loaded the files of two flows, of which the second has another size now.
    fn run_of_two(sizes: [u64; 2], replaces: [bool; 2]) -> Result<Option<RunId>, PlanError> {
        let input = |name, size| Arc::new(TestInput::new(name, size)) as Arc<dyn Input>;
        let files = [input("a.csv", sizes[0]), input("b.csv", sizes[1])];
        let flow = |at: usize| wanted(["a", "b"][at], replaces[at], &files[at]);
        let flows = [flow(0), flow(1)];
        let mut loaded = LoadedFiles::new(&flows);
        for (target, file) in ["a", "b"].into_iter().zip(&files) {
            loaded.see(&switched(target, file));
        }
        loaded.run()
    }

    #[test]
    fn a_flow_with_a_new_file_is_loaded_beside_flows_that_replace() {
        let run = |sizes, replaces| run_of_two(sizes, replaces).expect("no files to refuse");
        for replaces in [[true, true], [true, false], [false, false]] {
            assert_eq!(run([10, 10], replaces), Some(RunId::new(7)));
        }
        assert_eq!(run([10, 11], [true, true]), None);
        assert_eq!(run([10, 11], [true, false]), None);
        // Rows that were appended are not appended once more beside new ones.
        assert!(run_of_two([10, 11], [false, false]).is_err());
        assert!(run_of_two([10, 11], [false, true]).is_err());
    }

    #[test]
    fn a_table_is_replaced_again_by_each_command() {
        for (input, replaces, expected) in [
            (TestInput::table("t", 10), true, None),
            (TestInput::table("t", 10), false, Some(RunId::new(7))),
            (TestInput::new("t", 10), true, Some(RunId::new(7))),
        ] {
            let file = Arc::new(input) as Arc<dyn Input>;
            let flows = [wanted("t", replaces, &file)];
            let mut loaded = LoadedFiles::new(&flows);
            loaded.see(&switched("t", &file));
            assert_eq!(loaded.run().expect("no files to refuse"), expected);
        }
    }

    #[test]
    fn a_table_that_changed_after_the_kill_is_what_the_killed_command_has_loaded() {
        for (input, expected) in [
            (TestInput::table("t", 11), Some(RunId::new(7))),
            (TestInput::new("t", 11), None),
        ] {
            let file = Arc::new(input) as Arc<dyn Input>;
            let flows = [wanted("t", false, &file)];
            let switched = switched("t", &file);
            let run = |mut loaded: LoadedFiles<'_>| {
                loaded.see(&switched);
                loaded.run().expect("no files to refuse")
            };
            assert_eq!(run(LoadedFiles::new(&flows)), None);
            assert_eq!(run(LoadedFiles::of_killed(&flows)), expected);
        }
    }
}
