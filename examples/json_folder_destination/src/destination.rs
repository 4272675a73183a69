//! The folder between runs.

use std::collections::BTreeSet;

use inrush_destination::{
    Abilities, Ability, Destination, Error, NewRun, OpenRun, OwnMemory, PastRun, PublishedTogether,
    ResolvedType, Result, RunLedger, RunRecord, RunSteps, StepsRequest, Streams, TargetFacts,
    TargetName, TargetPlan, UnitRecord,
};
use inrush_rows::ids::RunKey;
use inrush_system::lock_file::{self, LockAttempt};

use crate::catalog::{Catalog, Entry};
use crate::files::{self, Doing, Layout};
use crate::ledger::{self, RunFile};
use crate::run::Run;
use crate::steps;
use crate::types;

/// Each unit costs two renames and four calls of `fsync`. They take little time compared with writing this number of
/// bytes.
const UNIT_BYTES: u64 = 16 << 20;
const BATCH_ROWS: u32 = 8192;
/// The memory for a batch as JSON, before it is written.
const STREAM_BUFFER_BYTES: u64 = 8 << 20;

/// A folder of JSON files.
pub struct JsonFolder {
    layout: Layout,
    abilities: Abilities,
}

impl JsonFolder {
    pub fn new(layout: Layout) -> JsonFolder {
        let can = [
            Ability::Create,
            Ability::Append,
            Ability::Replace,
            Ability::RateLimit,
            Ability::StagedBytes,
        ];
        JsonFolder {
            layout,
            abilities: Abilities {
                streams: Streams::Many,
                published_together: PublishedTogether::Run,
                can: BTreeSet::from(can),
                folds_names: false,
                unit_bytes: UNIT_BYTES,
                removes_units_alone: true,
                batch_rows: BATCH_ROWS,
                stream_buffer_bytes: STREAM_BUFFER_BYTES,
                own_memory: OwnMemory::None,
                not_promised: vec![
                    "Rows that a run replaces use disk space until the next run begins, because readers may still read them.".to_owned(),
                ],
            },
        }
    }

    /// Takes the lock of a run.
    fn lock(&self, key: &RunKey, holder: &str) -> Result<std::fs::File> {
        files::make_folder(&self.layout.locks())?;
        let path = self.layout.run_lock(key);
        match lock_file::try_take(&path, holder).doing("cannot take the lock", &path)? {
            LockAttempt::Ours(file) => Ok(file),
            LockAttempt::Others(other) => Err(Error::Held {
                what: format!(
                    "{other} is loading this package into {}",
                    self.layout.folder().display()
                ),
                hint: "wait until it ends, or end it; then the same command resumes the run"
                    .to_owned(),
            }),
        }
    }
}

impl Destination for JsonFolder {
    fn describe(&self) -> String {
        format!("a folder of JSON files, {}", self.layout.folder().display())
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName> {
        if let Some(schema) = schema {
            return Err(Error::Unsuitable {
                what: format!(
                    "{schema}.{name} names a schema, and a folder of JSON files has none"
                ),
                hint: "write the name of the table alone".to_owned(),
            });
        }
        Ok(TargetName {
            schema: None,
            name: name.to_owned(),
            sql: name.to_owned(),
        })
    }

    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType> {
        types::resolve(type_name)
    }

    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>> {
        let catalog = Catalog::read(&self.layout)?;
        Ok(catalog.tables.get(&name.sql).map(Entry::facts))
    }

    fn steps(&self, request: &StepsRequest<'_>) -> Result<RunSteps> {
        Ok(steps::of_run(&self.layout, request))
    }

    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>> {
        let lock = self.lock(&run.run_key, &run.holder)?;
        Catalog::tidy(&self.layout)?;
        let mut file = RunFile::begin(&self.layout, run, targets)?;
        let stagings = file.make_staging(&self.layout, targets)?;
        Ok(Box::new(Run::new(
            self.layout.clone(),
            file.record,
            targets.to_vec(),
            stagings,
            lock,
        )))
    }
}

impl RunLedger for JsonFolder {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        ledger::runs(&self.layout, run_key)
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        ledger::units(&self.layout, run.run_id, see)
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        let path = self.layout.run_lock(&run.run_key);
        let holder = lock_file::held_by(&path).doing("cannot check the lock", &path)?;
        Ok(Some(holder.is_some()))
    }

    fn lineage(&self, run: &RunRecord) -> Result<Option<String>> {
        let file = RunFile::read(&self.layout, run.run_id)?;
        Ok(file.and_then(|file| file.lineage))
    }

    fn staged_bytes(&self, run: &RunRecord) -> Result<Option<u64>> {
        files::bytes_of(&self.layout.all_rows(run.run_id)).map(Some)
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        let _lock = self.lock(
            &run.record.run_key,
            &format!("process {}", std::process::id()),
        )?;
        ledger::discard(&self.layout, run.record.run_id)
    }
}
