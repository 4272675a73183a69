//! Merges the rows of a staging table into a target that keeps versions, inside the switch's transaction.

use inrush_destination::MergedRows;

use super::careful::CarefulRows;
use super::error::{SwitchError, VersionAt};
use super::row_statements::{RowStatements, VersionCounts};
use super::search_path;
use super::target_copy::TargetCopy;
use crate::Session;
use crate::plan::versions::VersionRows;

/// Merges all rows. Fails unless each of the `expected` rows is refused or has a current version afterwards.
pub(super) async fn merge(
    session: &Session,
    target_copy: &TargetCopy<'_>,
    careful: &mut impl CarefulRows,
    staging_table: &str,
    rows: &VersionRows<'_>,
    expected: u64,
) -> Result<MergedRows, SwitchError> {
    let doing = format!("switching {}", rows.target);
    // Triggers look up names as in any other session.
    search_path::of_users(session, &doing).await?;
    let all = count(session, &rows.all().count, &doing).await?;
    if all.later > 0 {
        let found = version_at(session, &rows.all().later, rows.key, &doing).await?;
        return Err(SwitchError::LaterVersions {
            target: rows.target.clone(),
            rows: all.later,
            first: found.unwrap_or_default(),
            column: rows.versions.valid_from().to_owned(),
        });
    }
    if let Some(first) = version_at(session, &rows.all().overlap, rows.key, &doing).await? {
        return Err(SwitchError::OverlappingVersion {
            target: rows.target.clone(),
            first,
            column: rows.versions.valid_to().to_owned(),
        });
    }
    let statements = RowStatements::Versions(rows, all);
    let copied = target_copy.rows(careful, staging_table, statements, expected);
    let copied = copied.await?;
    let refused = match copied.refused.is_empty() {
        true => VersionCounts::default(),
        false => {
            // There is one row for each key, so the current versions of refused rows are as they were.
            let places: Vec<String> = copied
                .refused
                .iter()
                .map(|it| format!("\"{it}\""))
                .collect();
            let condition = format!("ctid = ANY ('{{{}}}'::tid[])", places.join(","));
            count(session, &rows.only(&condition).count, &doing).await?
        }
    };
    search_path::our_own(session, &doing).await?;
    let [new, changed, overwritten] = [
        all.new - refused.new,
        all.changed - refused.changed,
        all.overwritten - refused.overwritten,
    ];
    Ok(MergedRows {
        new,
        changed,
        overwritten,
        unchanged: copied.copied - new - changed - overwritten,
    })
}

/// The version that prevents the merge of rows, as a query finds it.
async fn version_at(
    session: &Session,
    sql: &str,
    key: &[String],
    doing: &str,
) -> Result<Option<VersionAt>, SwitchError> {
    let rows = session.query(sql, &[], doing).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let text = |place: usize| {
        let text: Option<String> = row.get(place);
        text.unwrap_or_default()
    };
    let columns = key.iter().enumerate();
    let columns: Vec<String> = columns
        .map(|(place, name)| format!("{name} = {}", text(place)))
        .collect();
    Ok(Some(VersionAt {
        key: columns.join(", "),
        time: text(key.len()),
        start: text(key.len() + 1),
    }))
}

async fn count(session: &Session, sql: &str, doing: &str) -> Result<VersionCounts, SwitchError> {
    let rows = session.query(sql, &[], doing).await?;
    Ok(VersionCounts::of_row(&rows[0]))
}
