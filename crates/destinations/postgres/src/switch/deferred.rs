//! Constraints that the server checks only at COMMIT (DEFERRABLE INITIALLY DEFERRED). At COMMIT it would be too late to
//! reject a row, so they are checked right before it, when all targets have their rows. For a flow whose rows are
//! copied carefully, they are checked as its rows are copied.

use super::error::SwitchError;
use super::run::{SwitchTask, refused};
use super::search_path;
use crate::plan::Plan;
use crate::quote::qualified;
use crate::{PostgresError, Session};

/// The constraints of one target that can be deferred until COMMIT.
struct Deferrable {
    flow: usize,
    /// The constraints, as SQL names them.
    constraints: Vec<String>,
    /// The target and its partitions, as SQL names them.
    tables: Vec<String>,
}

/// From now on, lets the server check the constraints of a flow's target with each statement, because the flow's rows
/// are copied carefully. `later` are the flows whose targets get their rows afterwards. Constraints that may need those
/// rows stay deferred: foreign keys to their targets, and triggers, because the tables that a trigger reads are
/// unknown.
pub async fn check_each_row(
    session: &Session,
    task: &SwitchTask<'_>,
    flow: usize,
    later: &[usize],
) -> Result<(), SwitchError> {
    let checked = at_once(session, task.plan, flow, later).await;
    checked.map_err(|error| {
        // A constraint of another target may have the same name, and a row there may violate it.
        let facts = error.row_refusal();
        let table = facts.and_then(|facts| facts.table.as_deref());
        let mut flows = task.plan.flows.iter();
        match flows.position(|flow| flow.copies_rows() && table == Some(flow.target().as_str())) {
            Some(other) => refused(other, true, error),
            None => error.into(),
        }
    })
}

/// Like [`check_each_row`], for a caller that knows the flow of a bad row.
pub async fn at_once(
    session: &Session,
    plan: &Plan,
    flow: usize,
    later: &[usize],
) -> Result<(), PostgresError> {
    let doing = "letting the server check constraints with each row";
    if plan.flows.len() == 1 {
        let all = "SET CONSTRAINTS ALL IMMEDIATE";
        return session.execute(all, doing).await;
    }
    let names = names(session, plan, flow, later, doing).await?;
    match names.is_empty() {
        true => Ok(()),
        false => set_immediate(session, &names, doing).await,
    }
}

/// Checks everything that COMMIT would check. A row of a flow may be at fault.
pub async fn check_all(
    session: &Session,
    task: &SwitchTask<'_>,
    order: &[usize],
) -> Result<(), SwitchError> {
    let doing = "checking the constraints that COMMIT would check";
    let copied = |flow: &&usize| task.plan.flows[**flow].copies_rows();
    let copied: Vec<usize> = order.iter().filter(copied).copied().collect();
    if copied.is_empty() {
        return Ok(());
    }
    let all = "SET CONSTRAINTS ALL IMMEDIATE";
    if let [flow] = order {
        search_path::of_users(session, doing).await?;
        let checked = session.execute(all, doing).await;
        checked.map_err(|error| refused(*flow, true, error))?;
        return Ok(search_path::our_own(session, doing).await?);
    }
    let mut found = Vec::new();
    for flow in copied {
        let constraints = names(session, task.plan, flow, &[], doing).await?;
        if !constraints.is_empty() {
            found.push(Deferrable {
                flow,
                constraints,
                tables: tables(session, &task.plan.flows[flow].target(), doing).await?,
            });
        }
    }
    // Triggers look up names as in any other session.
    search_path::of_users(session, doing).await?;
    for one in &found {
        let checked = set_immediate(session, &one.constraints, doing).await;
        checked.map_err(|error| {
            // Constraints of two tables may have the same name.
            let facts = error.row_refusal();
            let table = facts.and_then(|facts| facts.table.as_ref());
            let named = table.and_then(|table| found.iter().find(|one| one.tables.contains(table)));
            refused(named.unwrap_or(one).flow, true, error)
        })?;
    }
    session.execute(all, doing).await?;
    Ok(search_path::our_own(session, doing).await?)
}

async fn set_immediate(
    session: &Session,
    constraints: &[String],
    doing: &str,
) -> Result<(), PostgresError> {
    let sql = format!("SET CONSTRAINTS {} IMMEDIATE", constraints.join(", "));
    session.execute(&sql, doing).await
}

/// The deferrable constraints of a flow's target and of its partitions. Constraints that need the rows of `later` flows
/// are left out, and so are constraints that share a name with one of them, because SQL distinguishes constraints by
/// their names and not by their tables.
async fn names(
    session: &Session,
    plan: &Plan,
    flow: usize,
    later: &[usize],
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    let target = plan.flows[flow].target();
    let later: Vec<String> = later
        .iter()
        .map(|flow| plan.flows[*flow].target())
        .collect();
    let sql = "WITH named AS ( \
           SELECT c.connamespace, c.conname, \
             CASE c.contype \
               WHEN 't' THEN $2::text[] <> '{}' \
               WHEN 'f' THEN EXISTS ( \
                   SELECT FROM unnest($2::text[]) l \
                   WHERE to_regclass(l) IN (c.confrelid, pg_partition_root(c.confrelid))) \
               ELSE false END AS waits, \
             c.conparentid = 0 \
               AND (c.conrelid = $1::text::regclass \
                    OR c.conrelid IN (SELECT relid FROM pg_partition_tree($1::text::regclass))) \
               AS is_own \
           FROM pg_constraint c WHERE c.condeferrable \
         ) \
         SELECT n.nspname::text, d.conname::text FROM named d \
         JOIN pg_namespace n ON n.oid = d.connamespace \
         GROUP BY 1, 2 HAVING bool_or(d.is_own) AND NOT bool_or(d.waits) \
         ORDER BY 1, 2";
    let rows = session.query(sql, &[&target, &later], doing).await?;
    let name = |row: &tokio_postgres::Row| qualified(row.get(0), row.get(1));
    Ok(rows.iter().map(name).collect())
}

/// A target and its partitions.
async fn tables(
    session: &Session,
    target: &str,
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    let sql = "SELECT n.nspname::text, c.relname::text FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = $1::text::regclass \
            OR c.oid IN (SELECT relid FROM pg_partition_tree($1::text::regclass))";
    let rows = session.query(sql, &[&target], doing).await?;
    let name = |row: &tokio_postgres::Row| qualified(row.get(0), row.get(1));
    Ok(rows.iter().map(name).collect())
}
