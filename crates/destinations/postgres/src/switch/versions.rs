//! Merges the rows of a staging table into a target that keeps versions, inside the switch's transaction.

use inrush_engine::report::VersionsReport;

use super::error::SwitchError;
use super::run::SwitchTask;
use super::search_path;
use crate::plan::versions::VersionMerge;
use crate::{PostgresError, Session};

/// Merges all rows. Fails unless each of the `expected` rows has a current version then.
pub(super) async fn merge(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &str,
    merge: &VersionMerge,
    expected: u64,
) -> Result<VersionsReport, SwitchError> {
    let doing = format!("switching {target}");
    let run = task.fence.run_id.number();
    // Triggers look up names as in any other session.
    search_path::of_users(session, &doing).await?;
    let later = session.query(&merge.count_later, &[&run], &doing).await?;
    let later: i64 = later[0].get(0);
    if later > 0 {
        return Err(SwitchError::LaterVersions {
            target: target.to_owned(),
            rows: later as u64,
        });
    }
    let ended = change(session, &merge.end, &[&run], &doing).await?;
    let overwritten = match &merge.overwrite {
        Some(overwrite) => change(session, overwrite, &[], &doing).await?,
        None => 0,
    };
    let added = change(session, &merge.add, &[&run], &doing).await?;
    let current = session.query(&merge.count_current, &[], &doing).await?;
    let current = current[0].get::<_, i64>(0) as u64;
    let unchanged = expected.checked_sub(added + overwritten);
    let (Some(unchanged), Some(new), true) =
        (unchanged, added.checked_sub(ended), current == expected)
    else {
        return Err(SwitchError::Count {
            target: target.to_owned(),
            counted: current,
            expected,
        });
    };
    search_path::our_own(session, &doing).await?;
    Ok(VersionsReport {
        new,
        changed: ended,
        overwritten,
        unchanged,
    })
}

async fn change(
    session: &Session,
    sql: &str,
    values: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    doing: &str,
) -> Result<u64, PostgresError> {
    let changed = session.client.execute(sql, values).await;
    changed.map_err(|error| session.error(error, doing))
}
