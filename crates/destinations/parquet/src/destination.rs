//! The folder of tables, as a destination.

use std::collections::BTreeSet;
use std::path::Path;

use inrush_destination::{
    Abilities, Ability, Address, ColumnForm, Destination, Error, Layout, NewRun, OpenRun,
    OwnMemory, PastRun, PublishStep, PublishedTogether, ResolvedType, Result, RunLedger, RunRecord,
    RunState, RunSteps, SplitFacts, StepsRequest, Streams, TargetFacts, TargetName, TargetPlan,
    UndoRequest, UndoneRun, UnitRecord,
};
use inrush_rows::ids::{RunKey, UnitKey};

use crate::ledger::Root;
use crate::lock::Lock;
use crate::options::Options;
use crate::run::{ParquetRun, remove_staging};
use crate::table::Table;
use crate::{files, joined, merging, names, publish, recover, steps, sums, types, undo};

/// The size of a unit, in bytes of text. A unit becomes one file, and readers prefer large files.
const UNIT_BYTES: u64 = 128 << 20;

/// A folder of tables.
pub(super) struct ParquetFolder {
    root: Root,
    options: Options,
    abilities: Abilities,
}

impl ParquetFolder {
    /// Opens the folder. It creates nothing, but it finishes runs that a crash has left half published.
    pub(super) fn open(address: &Address<'_>, folder: &Path) -> Result<ParquetFolder> {
        if folder.as_os_str().is_empty() || (folder.exists() && !folder.is_dir()) {
            return Err(Error::Address {
                what: format!("{:?} is not a folder", folder.display().to_string()),
                hint: "write parquet:FOLDER; each table becomes a folder in it".to_owned(),
            });
        }
        let options = Options::read(address.options)?;
        let abilities = Abilities {
            streams: Streams::Many,
            published_together: PublishedTogether::Target,
            can: BTreeSet::from([
                Ability::Create,
                Ability::Append,
                Ability::Replace,
                Ability::ReplacePartitions,
                Ability::Partitions,
                Ability::Routing,
                Ability::VerifySums,
                Ability::Undo,
                Ability::SeveralHosts,
                Ability::StagedBytes,
            ]),
            folds_names: false,
            unit_bytes: UNIT_BYTES,
            removes_units_alone: true,
            batch_rows: 1024,
            stream_buffer_bytes: (options.row_group_bytes_max + options.partition_buffer_bytes)
                as u64,
            own_memory: OwnMemory::None,
            not_promised: vec![
                "tables are exchanged one after the other: for a moment, a reader of several \
                 tables may see new rows in one and old rows in another"
                    .to_owned(),
                "a reader may list a folder before the exchange and open its files afterwards: it \
                 then fails if files were replaced, and sees only the old rows if files were added"
                    .to_owned(),
            ],
        };
        let root = Root::new(folder);
        recover::finish_published(&root, &options)?;
        Ok(ParquetFolder {
            root,
            options,
            abilities,
        })
    }
}

impl Destination for ParquetFolder {
    fn describe(&self) -> String {
        format!("Parquet files in {}", self.root.folder().display())
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName> {
        names::target_name(schema, name)
    }

    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType> {
        types::resolve(type_name)
    }

    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>> {
        let table = Table::read(&self.root, &names::path(name)?)?;
        Ok(table.map(Table::facts))
    }

    fn lay_out(&self, _target: &TargetPlan, splits: &[SplitFacts<'_>]) -> Result<Layout> {
        Ok(merging::lay_out(splits, self.options.merge_bytes))
    }

    fn steps(&self, request: &StepsRequest<'_>) -> Result<RunSteps> {
        steps::of_run(&self.root, request)
    }

    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>> {
        let run = ParquetRun::begin(&self.root, &self.options, run, targets)?;
        Ok(Box::new(run))
    }

    fn join(
        &self,
        run: &RunRecord,
        targets: &[TargetPlan],
        joiner: &str,
    ) -> Result<Box<dyn OpenRun>> {
        let run = joined::join(&self.root, &self.options, run, targets, joiner)?;
        Ok(Box::new(run))
    }

    fn sum_forms(&self, target: &TargetPlan) -> Result<Vec<ColumnForm>> {
        Ok(sums::forms(target))
    }

    fn scratch(&self, folder: &Path) -> Option<String> {
        Some(format!("parquet:{}", folder.join("sample").display()))
    }
}

impl RunLedger for ParquetFolder {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        self.root
            .stored_runs()?
            .iter()
            .filter(|run| run_key.is_none_or(|key| *key == run.record.run_key))
            .map(|run| self.root.past_run(run))
            .collect()
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        self.root.units(run.run_id, see)
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        Lock::is_held(&self.root.run_lock(&run.run_key)).map(Some)
    }

    fn lineage(&self, run: &RunRecord) -> Result<Option<String>> {
        let stored = self.root.stored_run(run.run_id)?;
        Ok(stored.and_then(|stored| stored.lineage))
    }

    fn unknown_run(
        &self,
        run_key: &RunKey,
        target: &TargetName,
        unit_keys: &[&UnitKey],
    ) -> Result<Option<String>> {
        let path = names::path(target)?;
        let Some(generation) = self.root.generation(&path)? else {
            return Ok(None);
        };
        for run in generation.runs.iter().filter(|run| run.run_key == *run_key) {
            let stored = self.root.stored_run(run.run_id)?;
            let is_known = stored.is_some_and(|stored| generation.run(&stored.record) == Some(run));
            // File names contain the keys of their units.
            let has_unit = |key: &&&UnitKey| {
                let first =
                    publish::first_file(run_key, run.run_id, run.started_at_microseconds, key);
                let is_first = |file: &String| {
                    let file = Path::new(file);
                    file.file_stem().is_some_and(|stem| stem == first.as_str())
                };
                run.files.iter().any(is_first)
            };
            if !is_known && unit_keys.iter().any(|key| has_unit(&key)) {
                return Ok(Some(run.run_id.to_string()));
            }
        }
        Ok(None)
    }

    /// All files that `discard` would remove, including those of uncommitted units.
    fn staged_bytes(&self, run: &RunRecord) -> Result<Option<u64>> {
        files::bytes_below(&self.root.staging(run.run_id)).map(Some)
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        let run_id = run.record.run_id;
        let _lock = Lock::take(
            &self.root.run_lock(&run.record.run_key),
            &format!(
                "package {:?} in {}",
                run.record.package,
                self.root.folder().display()
            ),
            &run.record.holder,
        )?;
        let Some(mut stored) = self.root.stored_run(run_id)? else {
            return Ok(());
        };
        if matches!(stored.record.state, RunState::Discarded | RunState::Undone) {
            return remove_staging(&self.root, run_id);
        }
        for target in &stored.targets {
            let generation = self.root.generation(Path::new(&target.path))?;
            if generation.is_some_and(|it| it.run(&stored.record).is_some()) {
                return Err(Error::Unsuitable {
                    what: format!(
                        "run {run_id} cannot be given up: its rows are in {}",
                        target.path
                    ),
                    hint: "run the command of that run again: it publishes the rest of its tables"
                        .to_owned(),
                });
            }
        }
        // The run was switched, and its rows were replaced later, so it has nothing to discard.
        if stored.record.state == RunState::Switched {
            return Ok(());
        }
        stored.record.state = RunState::Discarded;
        joined::close(&self.root, &stored, &|| false)?;
        remove_staging(&self.root, run_id)
    }

    fn undo(
        &self,
        request: &UndoRequest<'_>,
        reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        undo::undo(&self.root, &self.options, request, reached).map(Some)
    }
}
