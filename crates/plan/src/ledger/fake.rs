//! A ledger in memory, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use inrush_destination::{
    Error, LoadedInput, PastRun, Result, RunLedger, RunRecord, RunState, UnitRecord, UnitTotal,
};
use inrush_rows::ids::{FileKey, RunId, RunKey, RunName, SplitKey, UnitKey};

use super::{Account, SplitRecord, each_record, unit_detail};
use crate::identity;

/// A ledger in memory.
#[derive(Default)]
pub struct FakeLedger {
    /// The runs, the oldest first.
    pub runs: Vec<PastRun>,
    /// The records of the units of each run.
    pub units: BTreeMap<RunId, Vec<UnitRecord>>,
    /// True if the ledger itself adds up units, and finds states and inputs.
    pub answers: bool,
    /// Units whose rows were written directly to their target; known only if it adds up units.
    pub direct: BTreeSet<UnitKey>,
    /// A process holds these runs.
    pub held: BTreeSet<RunName>,
    /// A process takes these runs as soon as they were asked for.
    pub taken: BTreeSet<RunName>,
    /// The runs that were discarded, in the order of the calls.
    pub discarded: Arc<Mutex<Vec<RunName>>>,
    /// How often its runs were read.
    pub reads: AtomicUsize,
}

impl FakeLedger {
    /// Adds a run of the package `p` with the next number, and the records of its units.
    pub fn add(&mut self, state: RunState, units: Vec<UnitRecord>) -> RunName {
        let run_id = RunId::new(self.runs.len() as i64 + 1);
        let name = RunName::new(format!("p-{run_id}"));
        self.runs.push(PastRun {
            record: RunRecord {
                run_id,
                name: name.clone(),
                run_key: RunKey::new("key"),
                package: "p".to_owned(),
                package_hash: "hash".to_owned(),
                holder: "process 1".to_owned(),
                epoch: 1,
                state,
                started_at_microseconds: 0,
                switched_at_microseconds: None,
                targets: vec!["t".to_owned()],
            },
            gone: Vec::new(),
        });
        self.units.insert(run_id, units);
        name
    }
}

/// The record of a split of a unit, with this number of loaded rows. Each split reads another file, which has this
/// state.
pub fn unit_record(unit: &str, split: usize, state: &str, rows_loaded: u64) -> UnitRecord {
    let unit_key = UnitKey::new(format!("{unit}.{}", identity::VERSION));
    let record = SplitRecord {
        unit_key: unit_key.clone(),
        split_key: SplitKey::new(format!("{unit} {split}")),
        file_key: FileKey::new(format!("file {unit} {split}")),
        file: "a.csv".to_owned(),
        byte_start: 0,
        byte_end: None,
        file_bytes: 10,
        file_modified_ns: 7,
        file_state: state.to_owned(),
        account: Account {
            rows_read: rows_loaded + 2,
            rows_loaded,
            rows_rejected: 1,
            rows_skipped: 1,
            bytes_read: 10,
            ..Account::default()
        },
        content_hash: None,
        text_range: None,
        tally: None,
        trailer: None,
        refused: Vec::new(),
    };
    UnitRecord {
        key: match split {
            0 => unit_key,
            _ => identity::part_key(&unit_key, split),
        },
        target: "t".to_owned(),
        rows_loaded,
        detail: unit_detail::of_split(record),
    }
}

impl RunLedger for FakeLedger {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let is_asked = |run: &&PastRun| run_key.is_none_or(|key| run.record.run_key == *key);
        Ok(self.runs.iter().filter(is_asked).cloned().collect())
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        self.units[&run.run_id].iter().cloned().for_each(see);
        Ok(())
    }

    fn unit_totals(&self, run: &RunRecord, see: &mut dyn FnMut(UnitTotal)) -> Result<bool> {
        let mut totals: BTreeMap<UnitKey, UnitTotal> = BTreeMap::new();
        each_record(self, run, &mut |record| {
            let total = record.total();
            match totals.get_mut(&total.key) {
                None => {
                    totals.insert(total.key.clone(), total);
                }
                Some(all) => {
                    all.account.add(&total.account);
                }
            }
        })?;
        for mut total in totals.into_values().filter(|_| self.answers) {
            total.is_direct = self.direct.contains(&total.key);
            see(total);
        }
        Ok(self.answers)
    }

    fn input_states(
        &self,
        run: &RunRecord,
        beginning: &str,
        see: &mut dyn FnMut(&str, &str),
    ) -> Result<bool> {
        if self.answers {
            each_record(self, run, &mut |record| {
                let states = record.splits.iter().map(|split| &split.file_state);
                let own = states.filter(|state| state.starts_with(beginning));
                own.for_each(|state| see(&record.target, state));
            })?;
        }
        Ok(self.answers)
    }

    fn loaded_inputs(&self, run_key: &RunKey, see: &mut dyn FnMut(LoadedInput)) -> Result<bool> {
        let runs = self.runs(Some(run_key))?.into_iter().rev();
        let is_switched = |run: &PastRun| run.record.state == RunState::Switched;
        for run in runs.filter(is_switched).filter(|_| self.answers) {
            each_record(self, &run.record, &mut |record| {
                for split in record.splits {
                    see(LoadedInput {
                        run_id: run.record.run_id,
                        target: record.target.clone(),
                        input_key: split.file_key,
                        bytes: split.file_bytes,
                        modified_ns: split.file_modified_ns,
                        state: split.file_state,
                        rows_loaded: split.account.rows_loaded,
                    });
                }
            })?;
        }
        Ok(self.answers)
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        Ok(Some(self.held.contains(&run.name)))
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        let name = &run.record.name;
        if self.held.contains(name) || self.taken.contains(name) {
            return Err(Error::Held {
                what: format!("process 1 holds run {name}"),
                hint: "wait for it".to_owned(),
            });
        }
        let mut discarded = self.discarded.lock().expect("no test has failed with it");
        discarded.push(name.clone());
        Ok(())
    }
}
