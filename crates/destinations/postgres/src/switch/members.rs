//! Adds the members that lookups have reserved to their references, in the switch's transaction and before its targets are
//! locked.

use std::collections::BTreeMap;

use inrush_destination::AddedMembers;

use super::error::SwitchError;
use super::run::SwitchTask;
use super::search_path;
use crate::plan::members;
use crate::{PostgresError, Session};

/// Adds the members to their references. Returns their counts, by the first flow that adds them. Fails unless each reference
/// then has all members with their numbers.
pub(super) async fn add(
    session: &Session,
    task: &SwitchTask<'_>,
) -> Result<BTreeMap<usize, Vec<AddedMembers>>, SwitchError> {
    let mut added: BTreeMap<usize, Vec<AddedMembers>> = BTreeMap::new();
    let references = members::of_switch(task.plan);
    if references.is_empty() {
        return Ok(added);
    }
    let doing = "adding the members of lookups";
    let (reserved, run) = names(task);
    // Triggers look up names as in any other session.
    search_path::of_users(session, doing).await?;
    for reference in references {
        let table = &reference.reference.table;
        let refused = |source: PostgresError| SwitchError::Members {
            table: table.clone(),
            sequence: reference.reference.sequence.clone(),
            source: Box::new(source),
        };
        for statement in reference.mark(&reserved, &run) {
            session.execute(&statement, doing).await?;
        }
        let inserted = session
            .client
            .execute(reference.add(&reserved, &run).as_str(), &[])
            .await
            .map_err(|error| refused(session.error(error, doing)))?;
        for statement in reference.replace(&reserved, &run) {
            session.execute(&statement, doing).await?;
        }
        let missing = session
            .query(&reference.missing(&reserved, &run), &[], doing)
            .await?;
        let missing: i64 = missing[0].get(0);
        if missing > 0 {
            return Err(SwitchError::MissingMembers {
                table: table.clone(),
                members: missing as u64,
            });
        }
        added.entry(reference.flow).or_default().push(AddedMembers {
            target: reference.flow,
            table: table.clone(),
            added: inserted,
        });
    }
    search_path::our_own(session, doing).await?;
    task.ledger
        .forget_members(session, task.fence.run_id)
        .await?;
    Ok(added)
}

/// The table of reserved members, and the number of the run.
fn names(task: &SwitchTask<'_>) -> (String, String) {
    (
        task.ledger.members_table(),
        task.fence.run_id.number().to_string(),
    )
}
