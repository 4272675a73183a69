//! What earlier runs of the same package did and left, and how much of it the plan can keep.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::PlanError;
use super::{Earlier, FlowPlan, identity};
use crate::destination::postgres::{Session, catalog};
use crate::ledger::{self, Ledger, SwitchedFile};
use crate::source::SourceFile;

/// Looks the package up in the ledger.
pub async fn find(
    session: &Session,
    ledger_schema: &str,
    staging_schema: &str,
    run_key: &str,
    flows: &[FlowPlan],
    again: bool,
) -> Result<Earlier, PlanError> {
    if !ledger::exists(session, ledger_schema).await? {
        return Ok(Earlier::None);
    }
    let book = Ledger::new(ledger_schema);
    if !again {
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
    let planned: BTreeSet<&str> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .map(|unit| unit.key.as_str())
        .collect();
    let units = book.units(session, run.run_id).await?;
    let tables: Vec<String> = units
        .iter()
        .map(|unit| unit.staging_table.clone())
        .collect();
    let standing = catalog::relation_names(session, staging_schema, Some(&tables)).await?;
    let kept: BTreeSet<String> = units
        .iter()
        .filter(|unit| {
            planned.contains(unit.unit_key.as_str())
                && unit.staging_schema == staging_schema
                && standing.contains(&unit.staging_table)
        })
        .map(|unit| unit.unit_key.clone())
        .collect();
    Ok(Earlier::Stopped {
        dropped: units.len() - kept.len(),
        run: Box::new(run),
        kept,
    })
}

/// The run that has loaded all of the plan's files, as they are now. Some of them loaded and
/// others not is refused: what is wanted cannot be told, and rows must not come in twice.
fn loaded_by(flows: &[FlowPlan], switched: &[SwitchedFile]) -> Result<Option<i64>, PlanError> {
    let mut newest: Option<i64> = None;
    let mut loaded_files = Vec::new();
    let mut first_new = None;
    for flow in flows {
        let shards = flow.units.iter().flat_map(|unit| &unit.shards);
        // The ranges of a file stand one after the other.
        let mut files: Vec<&Arc<SourceFile>> = shards.map(|shard| &shard.file).collect();
        files.dedup_by(|file, before| Arc::ptr_eq(file, before));
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
