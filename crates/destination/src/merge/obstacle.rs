//! Why rows cannot be merged into a target, found before the first row.

use inrush_rows::sql_text::identifier;

use crate::error::Error;
use crate::target::TargetPlan;

/// Why rows cannot be merged into a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeObstacle {
    /// There is no unique index on exactly the key; with versions, on the key of current versions.
    NoIndex,
    /// A unique index on these columns of the key allows only one version of a row.
    OneVersion(Vec<String>),
    /// A unique index treats NULL as equal to NULL, and the key may be NULL.
    EqualNulls(String),
}

impl MergeObstacle {
    /// The error. `fix` is what to do.
    pub fn error(&self, plan: &TargetPlan, fix: String) -> Error {
        let target = &plan.name.sql;
        let merge = plan.merge.as_ref();
        let key = merge.map(|merge| names(&merge.key)).unwrap_or_default();
        let keeps_versions = merge.is_some_and(|merge| merge.versions.is_some());
        let what = match self {
            MergeObstacle::NoIndex if keeps_versions => format!(
                "{target} has no unique index on the key ({key}) of its current versions, which `scd` needs"
            ),
            MergeObstacle::NoIndex => {
                format!("{target} has no unique index on the key ({key}), which an upsert needs")
            }
            MergeObstacle::OneVersion(columns) => format!(
                "{target} has a unique index on the key ({}), so it can have only one version of each row",
                names(columns)
            ),
            MergeObstacle::EqualNulls(index) => format!(
                "{target} has the unique index {} on the key ({key}), which treats NULL as equal to NULL; an upsert adds \
                 each row with a NULL in its key as a new row, which the index may refuse",
                identifier(index)
            ),
        };
        Error::Unsuitable { what, hint: fix }
    }
}

/// Quoted names, separated by commas.
pub fn names(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| identifier(name.as_ref())).collect();
    quoted.join(", ")
}
