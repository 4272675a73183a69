//! Committed units of a stopped run that the plan does not have, and why: they are dropped, and their rows are loaded again if
//! the plan has their files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use inrush_rows::ids::{FileKey, RunName, UnitKey};
use inrush_rows::plural::counted;

use super::ContractFlow;
use crate::identity::{self, causes::possible_changes};
use crate::ledger::LedgerRecord;

/// Why the plan does not have a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// One of its files is not in the plan any more.
    FileGone,
    /// Its files are in the plan, but in units with other files.
    Regrouped,
    /// Its files are in units of the same files, and one of them has another size.
    Resized,
    /// Its files are in units of the same files, with another description.
    Settings,
}

/// Committed units that the plan does not have.
pub struct UnplannedUnits<'a> {
    flows: &'a [ContractFlow],
    /// The files of each flow, listed when the first such unit is seen.
    files: OnceCell<Vec<PlannedFiles>>,
    units: BTreeMap<UnitKey, Cause>,
    /// The targets of units with another description.
    described_otherwise: BTreeSet<String>,
}

/// The files of a flow.
type PlannedFiles = BTreeMap<FileKey, PlannedFile>;

/// A file of a flow.
#[derive(Clone, Copy)]
struct PlannedFile {
    /// The number of files in its unit. If it is in several units, the largest number.
    unit_files: usize,
    /// Its size.
    size_bytes: u64,
}

impl<'a> UnplannedUnits<'a> {
    /// None so far, for a plan with these flows.
    pub fn new(flows: &'a [ContractFlow]) -> UnplannedUnits<'a> {
        UnplannedUnits {
            flows,
            files: OnceCell::new(),
            units: BTreeMap::new(),
            described_otherwise: BTreeSet::new(),
        }
    }

    fn planned(&self, target: &str, key: &FileKey) -> Option<PlannedFile> {
        let files = self
            .files
            .get_or_init(|| self.flows.iter().map(planned_files).collect());
        let mut flows = self.flows.iter().zip(files);
        flows.find_map(|(flow, files)| {
            let is_target = flow.reading.target == target;
            files.get(key).copied().filter(|_| is_target)
        })
    }

    /// Takes note of a record whose unit the plan does not have.
    pub fn see(&mut self, record: &LedgerRecord) {
        let key = record.unit_key();
        if identity::is_of_another_version(&key) {
            // There is a note about these already.
            return;
        }
        let splits = record.splits.iter();
        let own: BTreeMap<&FileKey, u64> = splits
            .map(|split| (&split.file_key, split.file_bytes))
            .collect();
        let files = own
            .iter()
            .map(|(key, size_bytes)| Some((self.planned(&record.target, key)?, *size_bytes)));
        let files: Option<Vec<(PlannedFile, u64)>> = files.collect();
        let cause = match files {
            None => Cause::FileGone,
            Some(files)
                if own.len() > 1 || files.iter().any(|(planned, _)| planned.unit_files > 1) =>
            {
                Cause::Regrouped
            }
            Some(files)
                if files
                    .iter()
                    .any(|(planned, was)| planned.size_bytes != *was) =>
            {
                Cause::Resized
            }
            Some(_) => {
                self.described_otherwise.insert(record.target.clone());
                Cause::Settings
            }
        };
        let known = self.units.entry(key).or_insert(cause);
        *known = cause.min(*known);
    }

    /// A note for each cause.
    pub fn notes(&self, run: &RunName) -> Vec<String> {
        let of = |cause: Cause| self.units.values().filter(|own| **own == cause).count() as u64;
        let mut notes = Vec::new();
        let gone = of(Cause::FileGone);
        let regrouped = of(Cause::Regrouped);
        let resized = of(Cause::Resized);
        let settings = of(Cause::Settings);
        if gone > 0 {
            notes.push(format!(
                "files of {} of the stopped run {run} are not in the flow any more, so their rows are dropped",
                counted(gone, "committed unit"),
            ));
        }
        if regrouped > 0 {
            notes.push(format!(
                "the files of {} of the stopped run {run} are in other units now, so they are loaded again: files came \
                 or went, or a setting for their grouping or their format changed",
                counted(regrouped, "committed unit"),
            ));
        }
        if resized > 0 {
            notes.push(format!(
                "the files of {} of the stopped run {run} are loaded again, because they have another size now",
                counted(resized, "committed unit"),
            ));
        }
        if settings > 0 {
            let readings = self.flows.iter().map(|flow| &flow.reading);
            let readings =
                readings.filter(|reading| self.described_otherwise.contains(&reading.target));
            notes.push(format!(
                "the files of {} of the stopped run {run} are loaded again, because one of these has changed since: {}",
                counted(settings, "committed unit"),
                possible_changes(readings)
            ));
        }
        notes
    }
}

fn planned_files(flow: &ContractFlow) -> PlannedFiles {
    let mut files = PlannedFiles::new();
    for unit in &flow.units {
        let splits = unit.splits.iter();
        let own: BTreeMap<FileKey, u64> = splits
            .map(|split| (identity::file_key(&*split.input), split.input.size_bytes()))
            .collect();
        let unit_files = own.len();
        for (key, size_bytes) in own {
            let file = files.entry(key).or_insert(PlannedFile {
                unit_files,
                size_bytes,
            });
            file.unit_files = file.unit_files.max(unit_files);
        }
    }
    files
}
