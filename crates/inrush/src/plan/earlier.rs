//! What earlier runs of the same package did and left, and how much of it the plan can keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::build::PlanOptions;
use super::contents::Contents;
use super::error::PlanError;
use super::{Earlier, FlowPlan, UnitPlan, identity};
use crate::destination::postgres::Session;
use crate::ledger::{
    self, Account, Ledger, RunRecord, RunState, ShardRecord, SwitchedFile, TouchedFile, UnitRecord,
};
use crate::package::Mode;
use crate::source::SourceFile;

/// Looks the package up in the ledger; what a user should know is added to `notes`.
pub async fn find(
    session: &Session,
    ledger_schema: &str,
    staging_schema: &str,
    run_key: &str,
    flows: &[FlowPlan],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<Earlier, PlanError> {
    if !ledger::exists(session, ledger_schema).await? {
        return Ok(Earlier::None);
    }
    let book = Ledger::new(ledger_schema);
    if options.is_replay
        && !options.again
        && let Some(run) = book.latest_run(session, run_key).await?
        && run.state == RunState::Switched
    {
        // What was mended since has been loaded, or rejected again, all the same.
        return Ok(Earlier::Loaded(Box::new(run)));
    }
    if !options.again && !options.is_replay {
        let switched = book.switched_files(session, run_key).await?;
        if let Some(run_id) = loaded_by(flows, &switched)?
            && let Some(run) = book.run(session, run_id).await?
        {
            return Ok(Earlier::Loaded(Box::new(run)));
        }
    }
    // What `again` asks for is a second helping of what was switched; a stopped run has switched
    // nothing, so its units are as good as new ones.
    let Some(run) = book.latest_stopped(session, run_key).await? else {
        return Ok(Earlier::None);
    };
    let units = book.units(session, run.run_id).await?;
    let shards = book.shards(session, run.run_id).await?;
    let found = look_at_files(flows, &shards, options).await?;
    let changed: BTreeSet<String> = found.changed.iter().map(|file| file.key.clone()).collect();
    let keepable = keepable(flows, &changed);
    let is_kept = |unit: &&UnitRecord| {
        let is_planned = keepable.contains(unit.unit_key.as_str());
        is_planned && unit.is_kept(staging_schema)
    };
    let straight: Vec<&UnitRecord> = units.iter().filter(|unit| unit.straight).collect();
    let lost = straight.iter().copied().filter(|unit| !is_kept(unit));
    refuse_lost_rows(&run, lost, &shards)?;
    notes.extend(emptied(&run, flows, &straight, &shards));
    if !options.again && !options.is_replay {
        refuse_changed(&run, &found.changed)?;
    }
    let kept: BTreeSet<String> = units
        .iter()
        .filter(is_kept)
        .map(|unit| unit.unit_key.clone())
        .collect();
    Ok(Earlier::Stopped {
        dropped: units.len() - kept.len(),
        tables: units
            .iter()
            .filter(|unit| unit.stands && !unit.straight)
            .map(|unit| unit.staging_table.clone())
            .collect(),
        run: Box::new(run),
        kept,
        changed,
        touched: found.touched,
    })
}

/// The keys of a plan's units whose files have the text of which an earlier attempt has loaded.
pub fn keepable<'a>(flows: &'a [FlowPlan], changed: &BTreeSet<String>) -> BTreeSet<&'a str> {
    let is_as_it_was = |unit: &&UnitPlan| {
        let mut files = unit.shards.iter().map(|shard| &shard.file);
        changed.is_empty() || !files.any(|file| changed.contains(&identity::file_key(file)))
    };
    let units = flows.iter().flat_map(|flow| &flow.units);
    units
        .filter(is_as_it_was)
        .map(|unit| unit.key.as_str())
        .collect()
}

/// Files of which a stopped run has loaded and that are not as they were.
#[derive(Default)]
struct FoundFiles {
    changed: Vec<ChangedFile>,
    touched: Vec<TouchedFile>,
}

struct ChangedFile {
    key: String,
    target: String,
    file: Arc<SourceFile>,
    before: ShardRecord,
}

/// Holds the plan's files against what a stopped run has loaded of them.
async fn look_at_files(
    flows: &[FlowPlan],
    shards: &[ShardRecord],
    options: &PlanOptions<'_>,
) -> Result<FoundFiles, PlanError> {
    let mut before: BTreeMap<&str, Vec<&ShardRecord>> = BTreeMap::new();
    for shard in shards {
        before.entry(&shard.file_key).or_default().push(shard);
    }
    let mut found = FoundFiles::default();
    for flow in flows {
        let own: BTreeSet<&str> = flow.units.iter().map(|unit| unit.key.as_str()).collect();
        for file in files(flow).filter(|file| !file.is_pipe()) {
            let key = identity::file_key(file);
            let Some(shards) = before.get(key.as_str()) else {
                continue;
            };
            // Of units that the plan does not have nothing is kept.
            let kept: Vec<&ShardRecord> = shards
                .iter()
                .copied()
                .filter(|shard| own.contains(shard.unit_key.as_str()))
                .collect();
            let stop = options.pipes.stop();
            let contents = if kept.is_empty() {
                match shards
                    .iter()
                    .all(|shard| shard.file_bytes == file.size_bytes)
                {
                    true => Contents::Untouched,
                    false => Contents::Changed,
                }
            } else {
                let looked = options.contents.look(file, &flow.dialect, &kept, stop);
                looked.await?
            };
            match contents {
                Contents::Untouched => {}
                Contents::Same => found.touched.push(TouchedFile {
                    file_key: key,
                    modified_ns: file.modified_ns,
                    state: file.state.to_string(),
                }),
                Contents::Changed => found.changed.push(ChangedFile {
                    key,
                    target: flow.target(),
                    file: Arc::clone(file),
                    before: (*shards[0]).clone(),
                }),
            }
        }
    }
    Ok(found)
}

/// Refuses files that a stopped run has loaded in part and that are not what they were: rows of
/// both would come together. What nothing is loaded of may change.
fn refuse_changed(run: &RunRecord, changed: &[ChangedFile]) -> Result<(), PlanError> {
    let Some(first) = changed.first() else {
        return Ok(());
    };
    let ChangedFile {
        target,
        file,
        before,
        ..
    } = first;
    let others = match changed.len() {
        1 => String::new(),
        count => format!(", and {} more files changed", count - 1),
    };
    let was = (before.file_bytes, before.file_modified_ns);
    let how = match was == (file.size_bytes, file.modified_ns) {
        true => format!(
            "it has the size and the time that it had ({} bytes of {}), and other text",
            was.0,
            time_words(was.1)
        ),
        false => format!(
            "it had {} bytes of {}, and has {} of {}",
            was.0,
            time_words(was.1),
            file.size_bytes,
            time_words(file.modified_ns)
        ),
    };
    Err(PlanError::Target {
        target: target.clone(),
        what: format!(
            "has rows staged by the run {}, which stopped, and {} changed since: {how}{others}",
            run.name,
            file.path.display(),
        ),
        hint: "put the file back as it was; or load what changed anew and keep the rest with \
               --again; or begin from nothing after `inrush cleanup`"
            .to_owned(),
    })
}

fn time_words(nanoseconds: i64) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds.into())
        .map_or_else(|_| nanoseconds.to_string(), |moment| moment.to_string())
}

/// The files of a flow, each once.
fn files(flow: &FlowPlan) -> impl Iterator<Item = &Arc<SourceFile>> {
    let shards = flow.units.iter().flat_map(|unit| &unit.shards);
    // The ranges of a file stand one after the other.
    let mut files: Vec<&Arc<SourceFile>> = shards.map(|shard| &shard.file).collect();
    files.dedup_by(|file, before| Arc::ptr_eq(file, before));
    files.into_iter()
}

/// Refuses to go on where a stopped run has put rows straight into a target, and the plan does not
/// have their files as they were, or the target is another table: nothing can take those rows out
/// again, or bring them in once more.
fn refuse_lost_rows<'a>(
    run: &RunRecord,
    units: impl Iterator<Item = &'a UnitRecord>,
    shards: &[ShardRecord],
) -> Result<(), PlanError> {
    for unit in units {
        let account = Account::of_unit(shards, &unit.unit_key);
        let shard = shards.iter().find(|shard| shard.unit_key == unit.unit_key);
        let (Some(shard), true) = (shard, account.rows_loaded > 0) else {
            continue;
        };
        let (rows, file, name) = (account.rows_loaded, &shard.file, &run.name);
        if !unit.stands {
            return Err(PlanError::Target {
                target: unit.target.clone(),
                what: format!(
                    "is not the table that run {name}, which was stopped, put rows into ({rows} of \
                     {file}, atomic = false): that one was dropped since, or renamed, and this one \
                     lacks them"
                ),
                hint: format!(
                    "give that table its name back to load the rest; or give the run up, and the \
                     same command then loads all of it into this one: inrush cleanup --run {name}"
                ),
            });
        }
        return Err(PlanError::Target {
            target: unit.target.clone(),
            what: format!(
                "has {rows} rows of {file} by run {name}, which was stopped; the file is not asked \
                 for any more, or it or the flow's settings changed since, and rows that went \
                 straight into the target (atomic = false) are not taken out again"
            ),
            hint: format!(
                "give the command of then, with files and settings as they were, to load the rest; \
                 or delete these rows and give the run up: inrush cleanup --run {name}"
            ),
        });
    }
    Ok(())
}

/// Says where somebody has emptied a target since a stopped run put rows straight into it: they are
/// loaded, so they do not come again.
fn emptied(
    run: &RunRecord,
    flows: &[FlowPlan],
    straight: &[&UnitRecord],
    shards: &[ShardRecord],
) -> Vec<String> {
    let mut notes = Vec::new();
    for flow in flows {
        let target = flow.target();
        let of_target = straight.iter().filter(|unit| unit.target == target);
        let rows: u64 = of_target
            .map(|unit| Account::of_unit(shards, &unit.unit_key).rows_loaded)
            .sum();
        if rows > 0 && flow.facts.as_ref().is_some_and(|facts| !facts.has_rows) {
            notes.push(format!(
                "{target} is empty, and run {name}, which was stopped, had put {rows} rows into it \
                 (atomic = false): somebody took them out since, and the same command loads only \
                 the rest; to load all of it give that run up: inrush cleanup --run {name}",
                name = run.name
            ));
        }
    }
    notes
}

/// The run that has loaded all of the plan's files, as they are now. Some of them loaded and
/// others not is refused: what is wanted cannot be told, and rows must not come in twice.
fn loaded_by(flows: &[FlowPlan], switched: &[SwitchedFile]) -> Result<Option<i64>, PlanError> {
    let mut newest: Option<i64> = None;
    let mut loaded_files = Vec::new();
    let mut first_new = None;
    for flow in flows {
        let files: Vec<&Arc<SourceFile>> = files(flow).collect();
        if flow.mode == Mode::Replace {
            // A second helping takes the place of the first, so there is nothing to refuse.
            match replaced_by(flow, &files, switched) {
                Some(run_id) => newest = newest.max(Some(run_id)),
                None => first_new = first_new.or(files.first().copied()),
            }
            continue;
        }
        for file in files {
            let key = identity::file_key(file);
            let is_file = |known: &&SwitchedFile| is_same(flow, file, &key, known);
            match switched.iter().find(is_file) {
                Some(switched) => {
                    newest = newest.max(Some(switched.run_id));
                    loaded_files.push((flow, file.path.display().to_string()));
                }
                None => first_new = first_new.or(Some(file)),
            }
        }
    }
    let (Some((flow, _)), Some(new)) = (loaded_files.first(), first_new) else {
        return Ok(newest);
    };
    let names: Vec<&str> = loaded_files.iter().map(|(_, name)| name.as_str()).collect();
    Err(PlanError::Target {
        target: flow.target(),
        what: format!(
            "has {} of the files already, by earlier runs of this package ({}), and others not, \
             such as {}",
            names.len(),
            shortened(&names),
            new.path.display()
        ),
        hint: "name only the files that are new; or load all of them, those once more, with \
               --again"
            .to_owned(),
    })
}

/// The run whose rows took the place of all others, where it has loaded these files and no other.
fn replaced_by(
    flow: &FlowPlan,
    files: &[&Arc<SourceFile>],
    switched: &[SwitchedFile],
) -> Option<i64> {
    let of_target = |known: &&SwitchedFile| known.target == flow.target();
    // They come newest first.
    let run_id = switched.iter().find(of_target)?.run_id;
    let last: Vec<&SwitchedFile> = switched
        .iter()
        .filter(of_target)
        .filter(|known| known.run_id == run_id)
        .collect();
    let are_same = files.iter().all(|file| {
        let key = identity::file_key(file);
        last.iter().any(|known| is_same(flow, file, &key, known))
    });
    (are_same && files.len() == last.len()).then_some(run_id)
}

/// Whether a file that was switched in is this one, its file unchanged and its rows still there.
fn is_same(flow: &FlowPlan, file: &SourceFile, key: &str, switched: &SwitchedFile) -> bool {
    let Some(facts) = &flow.facts else {
        return false;
    };
    switched.target == flow.target()
        && switched.target_oids.contains(&facts.oid)
        && switched.file_key == key
        && switched.file_bytes == file.size_bytes
        && switched.file_modified_ns == file.modified_ns
        // A target that was emptied since has none of them.
        && (switched.rows_loaded == 0 || facts.has_rows)
}

fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
