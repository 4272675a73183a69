//! Incremental loads: `source = { connection = "crm", table = "sales.orders", since = { column = "updated_at" } }`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::PackageFaultKind;
use super::faults::Faults;
use super::{Flow, Mode, Package};

/// A run loads only the rows that are newer than those of the last run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// The column with the time of a row's last change, of the type `timestamptz`; in SQLite with texts such as
    /// `2026-01-02 03:04:05` (UTC), in SQL Server of the type `datetimeoffset`. Its values must be times that the database took
    /// in the writing transaction, such as `now()`; for other values see `lag`.
    pub column: String,
    /// The smallest value that the first run loads, such as `"2026-01-01"` (UTC). Default: all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The longest time from the value of a row until its commit, such as `"5 minutes"`. A run loads only values that are older.
    /// Default: a run loads the values below which all rows are committed. In PostgreSQL this is the start of the oldest open
    /// transaction, in SQLite the greatest value; in DuckDB, whose file nobody can write to meanwhile, all values are loaded. A
    /// source in SQL Server, or in another database with an ADBC driver, needs `lag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<String>,
    /// `"skip"`: rows without a value are never loaded. Default: a table with such rows is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nulls: Option<SinceNulls>,
}

/// What happens to rows without a value in the column of `since`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SinceNulls {
    /// They are not loaded.
    Skip,
}

/// Checks the settings of incremental loads.
pub(super) fn check_since(package: &Package, index: usize, flow: &Flow, faults: &mut Faults<'_>) {
    let Some((source, since)) = flow.source.as_ref().and_then(|source| {
        let since = source.since.as_ref()?;
        Some((source, since))
    }) else {
        return;
    };
    let at = |setting: &str| format!("flow[{index}].{setting}");
    if since.column.trim().is_empty() {
        faults.value(
            &at("source.since.column"),
            &since.column,
            "it is empty",
            "name the column with the time of a row's last change",
        );
    }
    let mut conflict = |setting: &str, conflict: &str, mend: &str| {
        let kind = PackageFaultKind::Conflict {
            conflict: conflict.to_owned(),
            mend: mend.to_owned(),
        };
        faults.add(&at(setting), kind);
    };
    if !matches!(flow.mode, Mode::Append | Mode::Upsert) {
        conflict(
            "mode",
            "with `since` a run loads only what is new, so the rows of earlier runs must stay in the target",
            "make the table, and write `mode = \"upsert\"` with its `key`, or `mode = \"append\"`",
        );
    }
    if !flow.atomic {
        conflict(
            "atomic",
            "with `since` the rows and the mark are committed together, and `atomic = false` commits rows earlier",
            "remove `atomic`",
        );
    }
    if source.stable {
        conflict(
            "source.stable",
            "`stable` says that no row changes, but `since` loads rows that were changed",
            "remove one of them",
        );
    }
    let has_since = |flow: &Flow| {
        let source = flow.source.as_ref();
        source.is_some_and(|source| source.since.is_some())
    };
    if !package.flows.iter().all(has_since) {
        conflict(
            "source.since",
            "this flow has something new in each run, and a flow without `since` is loaded only once",
            "write the flows without `since` into a package of their own",
        );
    }
}
