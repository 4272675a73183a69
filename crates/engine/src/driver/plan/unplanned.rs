//! Committed units of a stopped run that the plan does not have, and why: they are dropped, and their rows are loaded again if
//! the plan has their files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use inrush_rows::ids::{FileKey, RunName, UnitKey};
use inrush_rows::plural::counted;

use super::ContractFlow;
use crate::ledger::LedgerRecord;
use crate::plan::identity;

/// Why the plan does not have a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// One of its files is not in the plan any more.
    FileGone,
    /// Its files are in the plan, but in units with other files.
    Regrouped,
    /// Its files are in units of the same files, with another description.
    Settings,
}

/// Committed units that the plan does not have.
pub struct UnplannedUnits<'a> {
    flows: &'a [ContractFlow],
    /// The files of each flow, listed when the first such unit is seen.
    files: OnceCell<Vec<UnitSizes>>,
    units: BTreeMap<UnitKey, Cause>,
}

/// For each file of a flow, the number of files in the unit with the most of them.
type UnitSizes = BTreeMap<FileKey, usize>;

impl<'a> UnplannedUnits<'a> {
    /// None so far, for a plan with these flows.
    pub fn new(flows: &'a [ContractFlow]) -> UnplannedUnits<'a> {
        UnplannedUnits {
            flows,
            files: OnceCell::new(),
            units: BTreeMap::new(),
        }
    }

    /// The number of files in the unit of a planned file.
    fn unit_size(&self, target: &str, key: &FileKey) -> Option<usize> {
        let files = self
            .files
            .get_or_init(|| self.flows.iter().map(unit_sizes).collect());
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
        let own: BTreeSet<&FileKey> = record.splits.iter().map(|split| &split.file_key).collect();
        let sizes = own.iter().map(|key| self.unit_size(&record.target, key));
        let planned: Option<Vec<usize>> = sizes.collect();
        let cause = match planned {
            None => Cause::FileGone,
            Some(counts) if own.len() > 1 || counts.iter().any(|count| *count > 1) => {
                Cause::Regrouped
            }
            Some(_) => Cause::Settings,
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
        if settings > 0 {
            notes.push(format!(
                "the files of {} of the stopped run {run} are loaded again, because the settings of the flow or the \
                 columns of the target changed since",
                counted(settings, "committed unit"),
            ));
        }
        notes
    }
}

fn unit_sizes(flow: &ContractFlow) -> UnitSizes {
    let mut sizes = UnitSizes::new();
    for unit in &flow.units {
        let keys = unit.splits.iter();
        let keys: BTreeSet<FileKey> = keys
            .map(|split| identity::file_key(&*split.input))
            .collect();
        let size = keys.len();
        for key in keys {
            let most = sizes.entry(key).or_insert(size);
            *most = size.max(*most);
        }
    }
    sizes
}
