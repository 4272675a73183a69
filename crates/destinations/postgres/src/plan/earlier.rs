//! Finds the work of an unpublished run that the plan can keep, and refuses targets that have rows of a run which the ledger does
//! not know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_destination::{RunRecord, SplitRecord};
use inrush_package::Mode;
use inrush_plan::earlier::changed::{self, FilesBefore, PlannedFiles};
use inrush_plan::{PlanError, PlanOptions, identity};
use inrush_rows::ids::{FileKey, RunKey, SplitKey, UnitKey};
use inrush_source::Input;

use super::{FlowPlan, ServerWork};
use crate::Session;
use crate::ledger::{Ledger, UnitRow, mark};
use crate::plan::failure::PlanFailure;

/// The part of an unpublished run's work that the plan can keep.
pub async fn kept_work(
    session: &Session,
    (ledger_schema, staging_schema): (&str, &str),
    run: &RunRecord,
    flows: &[FlowPlan],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<ServerWork, PlanFailure> {
    let book = &Ledger::new(ledger_schema);
    let units = book.units(session, run.run_id).await?;
    let planned: Vec<PlannedFiles<'_>> = flows.iter().map(|flow| PlannedFiles::of(flow)).collect();
    let mut before = FilesBefore::new(&planned);
    let mut left = SplitsLeft::new(&units);
    book.each_split(session, run.run_id, None, |split| {
        before.see(&split);
        left.see(split);
    })
    .await?;
    let found = before.look(options)?;
    let changed_keys: BTreeSet<FileKey> =
        found.changed.iter().map(|file| file.key.clone()).collect();
    let keepable = Keepable::of(flows, &changed_keys);
    let is_kept = |unit: &&UnitRow| keepable.keeps(unit, staging_schema);
    let straight: Vec<&UnitRow> = units.iter().filter(|unit| unit.straight).collect();
    let lost = straight.iter().copied().filter(|unit| !is_kept(unit));
    refuse_lost_rows(run, lost, &left)?;
    notes.extend(emptied(run, flows, &straight, &left));
    if !options.again && !options.is_replay {
        changed::refuse(&run.name, &found.changed, true)?;
    }
    let kept: BTreeSet<UnitKey> = units
        .iter()
        .filter(is_kept)
        .map(|unit| unit.unit_key.clone())
        .collect();
    let dropped = units.iter().filter(|unit| !kept.contains(&unit.unit_key));
    let dropped_keys = dropped.map(|unit| &unit.unit_key);
    notes.extend(identity::another_version(&run.name, dropped_keys));
    let mut unfinished = left.of_unfinished;
    unfinished.retain(|key, _| kept.contains(key));
    if !changed_keys.is_empty() {
        book.each_split(session, run.run_id, None, |split| {
            if changed_keys.contains(&split.file_key)
                && let Some(splits) = unfinished.get_mut(&split.unit_key)
            {
                splits.remove(&split.split_key);
            }
        })
        .await?;
    }
    notes.extend(changed::note(&found.changed));
    Ok(ServerWork {
        unfinished,
        dropped: units.len() - kept.len(),
        tables: units
            .iter()
            .filter(|unit| unit.stands && !unit.straight)
            .map(|unit| unit.staging_table.clone())
            .collect(),
        kept,
        changed: changed_keys,
        touched: found.touched,
    })
}

/// The splits of a stopped run that matter for the plan.
struct SplitsLeft {
    /// For each unfinished unit, the keys of its committed splits.
    of_unfinished: BTreeMap<UnitKey, BTreeSet<SplitKey>>,
    /// For each unit, the number of rows that it has written directly to its target, and one of its files.
    straight: BTreeMap<UnitKey, (u64, String)>,
}

impl SplitsLeft {
    fn new(units: &[UnitRow]) -> SplitsLeft {
        let keys = |is_meant: fn(&&UnitRow) -> bool| {
            let units = units.iter().filter(is_meant);
            units.map(|unit| unit.unit_key.clone())
        };
        SplitsLeft {
            of_unfinished: keys(|unit| !unit.finished)
                .map(|key| (key, BTreeSet::new()))
                .collect(),
            straight: keys(|unit| unit.straight)
                .map(|key| (key, (0, String::new())))
                .collect(),
        }
    }

    fn see(&mut self, split: SplitRecord) {
        if let Some((rows, file)) = self.straight.get_mut(&split.unit_key) {
            *rows += split.account.rows_loaded;
            file.clone_from(&split.file);
        }
        if let Some(keys) = self.of_unfinished.get_mut(&split.unit_key) {
            keys.insert(split.split_key);
        }
    }

    /// Rows that a unit has written directly to its target.
    fn rows(&self, unit: &UnitRow) -> u64 {
        self.straight
            .get(&unit.unit_key)
            .map_or(0, |(rows, _)| *rows)
    }
}

/// Refuses to append files that were already appended by a run which the ledger does not know. The ledger of that run
/// was lost since, or the run used another ledger.
pub async fn refuse_lost_ledger(
    session: &Session,
    ledger_schema: &str,
    run_key: &RunKey,
    flows: &[FlowPlan],
) -> Result<(), PlanFailure> {
    let may_double = |flow: &&FlowPlan| {
        flow.mode == Mode::Append && flow.facts.as_ref().is_some_and(|facts| facts.has_rows)
    };
    let mut asked = Vec::new();
    for flow in flows.iter().filter(may_double) {
        let oid = flow.facts.as_ref().map_or(0, |facts| facts.oid);
        let files = flow.files().into_iter();
        asked.extend(files.filter_map(|file| Some((oid, mark::file_key(&**file)?))));
    }
    if asked.is_empty() {
        return Ok(());
    }
    let book = Ledger::new(ledger_schema);
    let mut known = BTreeSet::new();
    for found in mark::find(session, run_key, &asked).await? {
        let mark::FoundMark {
            oid,
            run,
            target_oid,
            key,
        } = found;
        if known.contains(&run) {
            continue;
        }
        if book.run_by_name(session, &run).await?.is_some() {
            known.insert(run);
            continue;
        }
        let is_target = |flow: &&FlowPlan| {
            let facts = flow.facts.as_ref();
            facts.is_some_and(|facts| facts.oid == target_oid)
        };
        let mut of_target = flows.iter().filter(may_double).filter(is_target);
        let named = of_target.find_map(|flow| {
            let mut files = flow.files().into_iter();
            let file = files.find(|file| mark::file_key(&***file).as_ref() == Some(&key))?;
            Some((flow, file))
        });
        let Some((flow, file)) = named else {
            continue;
        };
        return Err(PlanError::Target {
            target: flow.target(),
            what: format!(
                "has rows of {} from run {run}, but the ledger in schema {ledger_schema} does not \
                 know that run, because the schema was dropped or restored since, or the run used \
                 another `ledger_schema`. This load would append the same rows again",
                file.name().display()
            ),
            hint: format!(
                "restore the ledger, or set `ledger_schema` to the one that the run used; if the rows are gone, or should \
                 be there twice, --again loads them, and SELECT lo_unlink({oid}) removes the mark of that run"
            ),
        }.into());
    }
    Ok(())
}

/// The keys of the plan's units that a resumed run can keep.
pub struct Keepable<'a> {
    /// Units whose files have not changed since an earlier attempt has loaded them.
    whole: BTreeSet<&'a UnitKey>,
    /// Units of which some inputs have changed, if each of these can be loaded again alone.
    in_part: BTreeSet<&'a UnitKey>,
}

impl Keepable<'_> {
    /// Finds the units of these flows that can be kept. `changed` are the files that have changed.
    pub fn of<'a>(flows: &'a [FlowPlan], changed: &BTreeSet<FileKey>) -> Keepable<'a> {
        let mut keepable = Keepable {
            whole: BTreeSet::new(),
            in_part: BTreeSet::new(),
        };
        for unit in flows.iter().flat_map(|flow| &flow.units) {
            let files = unit.splits.iter().map(|split| &split.input);
            let is_changed =
                |file: &&Arc<dyn Input>| changed.contains(&identity::file_key(&***file));
            let mut found = files.filter(|file| !changed.is_empty() && is_changed(file));
            match found.next() {
                None => keepable.whole.insert(&unit.key),
                Some(first) => {
                    let mut all = std::iter::once(first).chain(found);
                    all.all(|file| file.is_loaded_alone_again())
                        && keepable.in_part.insert(&unit.key)
                }
            };
        }
        keepable
    }

    /// True if a unit in the ledger is kept, at least in part.
    pub fn keeps(&self, unit: &UnitRow, staging_schema: &str) -> bool {
        let is_planned = self.whole.contains(&unit.unit_key) || self.loses_rows(unit);
        is_planned && unit.is_kept(staging_schema)
    }

    /// True if the rows of changed inputs must be removed from the staging table of a unit before the unit is resumed.
    /// Two kinds of units are loaded again as a whole instead: a finished unit, because its table has its indexes and
    /// its CHECK; and a unit that a single stream has filled, because it was committed as a whole.
    pub fn loses_rows(&self, unit: &UnitRow) -> bool {
        let can_lose = unit.shared && !unit.finished && !unit.careful && !unit.straight;
        can_lose && self.in_part.contains(&unit.unit_key)
    }
}

/// A stopped run may have written rows directly to a target; those rows can be neither removed nor loaded again.
/// Refuses to resume the run if the files of these rows have changed, if the plan does not have the files, or if the
/// target is another table now.
fn refuse_lost_rows<'a>(
    run: &RunRecord,
    units: impl Iterator<Item = &'a UnitRow>,
    left: &SplitsLeft,
) -> Result<(), PlanError> {
    for unit in units {
        let Some((rows, file)) = left.straight.get(&unit.unit_key) else {
            continue;
        };
        if *rows == 0 {
            continue;
        }
        let name = &run.name;
        if !unit.stands {
            return Err(PlanError::Target {
                target: unit.target.clone(),
                what: format!(
                    "is not the table that the stopped run {name} wrote rows to ({rows} of {file}, \
                     atomic = false): that table was dropped or renamed since, and this table does \
                     not have the rows"
                ),
                hint: format!(
                    "give that table its name back to load the rest; or give the run up, and the \
                     same command loads everything into this table: inrush cleanup --run {name}"
                ),
            });
        }
        if identity::is_of_another_version(&unit.unit_key) {
            return Err(PlanError::Target {
                target: unit.target.clone(),
                what: format!(
                    "has {rows} rows of {file} from the stopped run {name}. Another version of \
                     Inrush loaded them, so this version cannot tell whether the rest belongs to \
                     them; and rows that were written directly to the target (atomic = false) are \
                     not removed"
                ),
                hint: format!(
                    "resume the run with the version that began it; or delete these rows and give \
                     the run up: inrush cleanup --run {name}"
                ),
            });
        }
        return Err(PlanError::Target {
            target: unit.target.clone(),
            what: format!(
                "has {rows} rows of {file} from the stopped run {name}; the file is no longer in \
                 the flow, or the file or the flow's settings changed since; and rows that were \
                 written directly to the target (atomic = false) are not removed"
            ),
            hint: format!(
                "run the original command, with the original files and settings, to load the rest; \
                 or delete these rows and give the run up: inrush cleanup --run {name}"
            ),
        });
    }
    Ok(())
}

/// Returns a note for each target that somebody has emptied since a stopped run wrote rows directly to it: these rows
/// count as loaded, so they are not loaded again.
fn emptied(
    run: &RunRecord,
    flows: &[FlowPlan],
    straight: &[&UnitRow],
    left: &SplitsLeft,
) -> Vec<String> {
    let mut notes = Vec::new();
    for flow in flows {
        let target = flow.target();
        let of_target = straight.iter().filter(|unit| unit.target == target);
        let rows: u64 = of_target.map(|unit| left.rows(unit)).sum();
        if rows > 0 && flow.facts.as_ref().is_some_and(|facts| !facts.has_rows) {
            notes.push(format!(
                "{target} is empty, but the stopped run {name} had written {rows} rows to it \
                 (atomic = false): somebody deleted them since, and the same command loads only \
                 the rest; to load everything, give that run up: inrush cleanup --run {name}",
                name = run.name
            ));
        }
    }
    notes
}
