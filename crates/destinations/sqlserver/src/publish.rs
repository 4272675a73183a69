//! The switch: staged rows become part of all targets, in one transaction.
//!
//! A target that is new is the staging table, renamed: no row is moved. A target that exists gets the rows by
//! `INSERT ... SELECT`, after TRUNCATE or DELETE if its rows are replaced. Readers wait for the transaction; with
//! READ_COMMITTED_SNAPSHOT on, those of a target that gets more rows do not. They never see a part.

use inrush_destination::{Error, PublishStep, Published, Result, WriteMode};
use inrush_rows::calendar::now_microseconds;

use crate::catalog;
use crate::connection::SqlSession;
use crate::run::SqlRun;
use crate::sql;
use crate::staging::Staging;

/// Publishes a run.
pub fn publish(
    run: &SqlRun,
    session: &mut SqlSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let published = session.in_transaction("cannot commit the switch", |session| {
        let published = switch(run, session, reached)?;
        reached(PublishStep::BeforeCommit);
        run.refuse_interrupted()?;
        Ok(published)
    })?;
    reached(PublishStep::Committed);
    Ok(published)
}

fn switch(
    run: &SqlRun,
    session: &mut SqlSession,
    reached: &dyn Fn(PublishStep),
) -> Result<Published> {
    let ledger = &run.ledger;
    ledger.fence(session, &run.record)?;
    for staging in &run.stagings {
        user_batches(run, session, "pre_sql", staging, &staging.plan.pre_sql)?;
    }
    let mut published = Published::default();
    let mut loaded = Vec::with_capacity(run.stagings.len());
    for (place, staging) in run.stagings.iter().enumerate() {
        run.refuse_interrupted()?;
        let staged = staging.count(session)?;
        if staging.plan.mode != WriteMode::Append {
            ledger.mark_gone(session, &staging.plan.name.sql)?;
        }
        published.rows.push(fill(run, session, staging, staged)?);
        loaded.push(staged);
        if place == 0 {
            reached(PublishStep::Under);
        }
    }
    for staging in &run.stagings {
        user_batches(run, session, "post_sql", staging, &staging.plan.post_sql)?;
    }
    ledger.mark_switched(session, run.record.run_id, now_microseconds(), &loaded)?;
    Ok(published)
}

/// Fills a target. Returns its number of rows then, if that is known without counting them.
fn fill(
    run: &SqlRun,
    session: &mut SqlSession,
    staging: &Staging,
    staged: u64,
) -> Result<Option<u64>> {
    let target = &staging.plan.name;
    let Some(found) = catalog::entry(session, &staging.schema, &target.name)? else {
        if staging.plan.mode == WriteMode::Append {
            return Err(Error::Unsuitable {
                what: format!("{} is gone; it was there when the load began", target.sql),
                hint: "create it again, or use the mode create".to_owned(),
            });
        }
        let doing = format!("cannot make {}", target.sql);
        // The new name is a text and not an identifier: it is not quoted.
        let rename = format!(
            "EXEC sp_rename {}, {}, N'OBJECT'",
            sql::text(&staging.sql),
            sql::text(&target.name)
        );
        session.run(&doing, &rename)?;
        return Ok(Some(staged));
    };
    if found.kind != "table" {
        return Err(Error::Unsuitable {
            what: format!("{} is a {} now", target.sql, found.kind),
            hint: "remove it, or name another table".to_owned(),
        });
    }
    match staging.plan.mode {
        WriteMode::Create if catalog::has_rows_for_certain(session, target)? => {
            return Err(Error::Unsuitable {
                what: format!(
                    "{} has rows now, but had none when the load began",
                    target.sql
                ),
                hint: "use the mode append or replace, or empty it".to_owned(),
            });
        }
        WriteMode::Replace => empty(session, staging)?,
        _ => {}
    }
    run.refuse_interrupted()?;
    copy(session, staging, staged)?;
    staging.remove(session)?;
    Ok((staging.plan.mode != WriteMode::Append).then_some(staged))
}

/// Removes all rows of a target. TRUNCATE is not allowed for a table that a foreign key references or an indexed view
/// reads (error 4712), and it runs no triggers.
fn empty(session: &mut SqlSession, staging: &Staging) -> Result<()> {
    let target = &staging.plan.name;
    let doing = format!("cannot empty {}", target.sql);
    let object = sql::text(&target.sql);
    let question = format!(
        "SELECT (SELECT COUNT_BIG(*) FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID({object})) + (SELECT \
         COUNT_BIG(*) FROM sys.triggers WHERE parent_id = OBJECT_ID({object})) + (SELECT COUNT_BIG(*) FROM sys.tables WHERE \
         object_id = OBJECT_ID({object}) AND temporal_type <> 0) + (SELECT COUNT_BIG(*) FROM sys.sql_expression_dependencies \
         WHERE referenced_id = OBJECT_ID({object}) AND is_schema_bound_reference = 1 AND referencing_id IN (SELECT object_id \
         FROM sys.views))"
    );
    let statement = match session.number(&doing, &question)? {
        Some(0) => format!("TRUNCATE TABLE {}", target.sql),
        _ => format!("DELETE FROM {} WITH (TABLOCK)", target.sql),
    };
    session.run(&doing, &statement)?;
    Ok(())
}

/// Copies all rows of staging into its target, and compares the server's count.
fn copy(session: &mut SqlSession, staging: &Staging, staged: u64) -> Result<()> {
    let target = &staging.plan.name;
    let doing = format!("cannot add the rows to {}", target.sql);
    let names = staging.column_names();
    let identity = catalog::identity(session, &target.sql)?;
    let fills_identity = identity.is_some_and(|identity| {
        staging
            .plan
            .columns
            .iter()
            .any(|column| column.name == identity)
    });
    let set = |value: &str| format!("SET IDENTITY_INSERT {} {value}", target.sql);
    if fills_identity {
        session.run(&doing, &set("ON"))?;
    }
    let statement = format!(
        "INSERT INTO {} WITH (TABLOCK) ({names}) SELECT {names} FROM {}",
        target.sql, staging.sql
    );
    let added = session.run(&doing, &statement)?.count();
    if fills_identity {
        session.run(&doing, &set("OFF"))?;
    }
    match added {
        Some(added) if added != staged => Err(Error::Refused {
            doing,
            message: format!("{staged} rows are staged, but {added} were added"),
            hint: Some(
                "a trigger of the table, or IGNORE_DUP_KEY of an index, drops rows: fix or leave out those rows, or load into \
                 another table"
                    .to_owned(),
            ),
        }),
        _ => Ok(()),
    }
}

/// Runs the user's batches, one at a time.
fn user_batches(
    run: &SqlRun,
    session: &mut SqlSession,
    setting: &str,
    staging: &Staging,
    batches: &[String],
) -> Result<()> {
    let doing = format!("{setting} of {}", staging.plan.name.sql);
    for batch in batches {
        run.refuse_interrupted()?;
        if let Some((word, reason)) = sql::unsuitable_word(batch) {
            return Err(Error::Unsuitable {
                what: format!("{doing}: {word} {reason}"),
                hint: "correct the package, then run it again: the units are kept".to_owned(),
            });
        }
        session.run(&doing, batch)?;
        let open = session.number(&doing, "SELECT @@TRANCOUNT")?;
        if open != Some(1) || !session.is_in_transaction() {
            return Err(Error::Unsuitable {
                what: format!(
                    "{doing}: it ended the transaction that all rows are published in, or began another one"
                ),
                hint: "leave COMMIT, ROLLBACK and BEGIN TRANSACTION out".to_owned(),
            });
        }
    }
    Ok(())
}
