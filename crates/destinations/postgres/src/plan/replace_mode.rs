//! The rows and partitions that a flow takes out of its target before its own rows replace them.

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_package::{Keep, Replace, ReplaceBy, ReplaceScope};
use inrush_plan::{PlanError, identity};

use super::{FlowPlan, KeyPlan, Publish};
use crate::catalog::{self, TableFacts};
use crate::ledger::{self, Ledger, SwitchedTable};
use crate::old_tables::{self, OldTable};
use crate::plan::failure::PlanFailure;
use crate::quote::{cut, qualified};
use crate::ranges::{self, Coverage, PartitionRange};
use crate::table_swap::{self, SwapPlan};
use crate::{PostgresError, Session};

/// The tables that are taken out of an existing target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacePlan {
    /// The part of the target that is replaced.
    pub scope: ReplaceScope,
    /// True if the rows of a plain target are deleted.
    pub by_rows: bool,
    /// What happens to them: they are dropped or kept.
    pub keep: KeepPlan,
    /// The tables that are known before the load; partitions that depend on the data are not listed.
    pub old: Vec<OldTable>,
    /// The properties that a new table gets from the old one, if it replaces it.
    pub swap: Option<SwapPlan>,
}

/// What happens to the tables that are taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepPlan {
    /// They are dropped.
    Drop,
    /// They are kept until the target is replaced again.
    UntilNext,
    /// They are kept under this name.
    Under(String),
}

impl KeepPlan {
    /// The choice in the package.
    pub fn of(keep: &Keep) -> KeepPlan {
        match keep {
            Keep::Whether(false) => KeepPlan::Drop,
            Keep::Whether(true) => KeepPlan::UntilNext,
            Keep::Name(name) => KeepPlan::Under(name.clone()),
        }
    }
}

impl ReplacePlan {
    /// The name that a table of `target` is kept under; `None` if it is dropped. It is the same each time, so that the
    /// plan can print it.
    pub fn kept_name(&self, target: &str, old: &OldTable) -> Option<String> {
        let digest = identity::digest([target, &old.schema, &old.name]);
        let long = |words: String| match words.len() > POSTGRES_NAME_BYTES_MAX {
            true => format!(
                "{}_{}",
                cut(&words, POSTGRES_NAME_BYTES_MAX - 9),
                &digest[..8]
            ),
            false => words,
        };
        match &self.keep {
            KeepPlan::Drop => None,
            KeepPlan::UntilNext => Some(format!(
                "{}_kept_{}",
                cut(&old.name, POSTGRES_NAME_BYTES_MAX - 14),
                &digest[..8]
            )),
            KeepPlan::Under(name) if old.bound.is_some() => {
                Some(long(format!("{name}_{}", old.name)))
            }
            KeepPlan::Under(name) => Some(name.clone()),
        }
    }
}

/// Plans the tables that are taken out of a partitioned target. `asked` are the new partitions, if their bounds are
/// known already.
pub async fn of_partitions(
    session: &Session,
    replace: &Replace,
    target: &str,
    facts: &TableFacts,
    key: &KeyPlan,
    asked: &[PartitionRange],
) -> Result<ReplacePlan, PlanFailure> {
    let refuse = |what: String, hint: String| PlanError::Target {
        target: target.to_owned(),
        what,
        hint,
    };
    let partitions = old_tables::partitions(session, facts.oid).await?;
    let old = match replace.scope {
        ReplaceScope::Table => {
            if let Some(default) = partitions.iter().find(|old| old.is_default())
                && default.partitioned
            {
                return Err(refuse(
                    format!(
                        "has the default partition {}, which is itself partitioned: an empty \
                         partition cannot replace it",
                        default.qualified()
                    ),
                    "replace = { scope = \"partitions\" } leaves it alone".to_owned(),
                )
                .into());
            }
            partitions
        }
        ReplaceScope::Partitions => covered(session, key, asked, partitions)
            .await?
            .map_err(|partly| refuse(partly.what(), partly.hint()))?,
    };
    let plan = ReplacePlan {
        scope: replace.scope,
        by_rows: false,
        keep: KeepPlan::of(&replace.keep),
        old,
        swap: None,
    };
    if plan.keep == KeepPlan::Drop {
        let oids: Vec<u32> = plan.old.iter().map(|old| old.oid).collect();
        let dependents = old_tables::dependents(session, &oids).await?;
        if !dependents.is_empty() {
            return Err(refuse(
                format!(
                    "has partitions that cannot be dropped, because other objects depend on them: {}",
                    dependents.join(", ")
                ),
                "drop those objects, let them read the target itself, or keep the replaced \
                 partitions: replace = { keep = true }"
                    .to_owned(),
            ).into());
        }
    }
    Ok(plan)
}

/// Plans the replacement of a plain target by its units.
pub async fn of_plain(
    session: &Session,
    replace: &Replace,
    target: &str,
    facts: &TableFacts,
    publish: &Publish,
) -> Result<ReplacePlan, PlanFailure> {
    let refuse = |what: String, hint: &str| PlanError::Target {
        target: target.to_owned(),
        what,
        hint: hint.to_owned(),
    };
    if replace.scope == ReplaceScope::Partitions {
        return Err(refuse(
            "is a plain table, but the flow replaces partitions".to_owned(),
            "remove `scope` from `replace`",
        )
        .into());
    }
    if replace.by == ReplaceBy::Rows {
        let cascading: Vec<&str> = facts
            .referring
            .iter()
            .filter(|key| key.cascades)
            .map(|key| key.label.as_str())
            .collect();
        if !cascading.is_empty() {
            return Err(refuse(
                format!(
                    "is referenced by foreign keys that would also delete or change rows of other \
                     tables ({})",
                    cascading.join(", ")
                ),
                "drop the foreign keys for the load, and add them again after it",
            )
            .into());
        }
        return Ok(ReplacePlan {
            scope: replace.scope,
            by_rows: true,
            keep: KeepPlan::Drop,
            old: Vec::new(),
            swap: None,
        });
    }
    let obstacles = table_swap::obstacles(session, facts.oid).await?;
    if !obstacles.is_empty() {
        return Err(refuse(
            format!(
                "cannot be replaced by a new table, because that would lose or leave behind: {}",
                obstacles.join(", ")
            ),
            "replace = { by = \"rows\" } deletes its rows and inserts the new rows: everything \
             else stays, and each row is written twice",
        )
        .into());
    }
    Ok(ReplacePlan {
        scope: replace.scope,
        by_rows: false,
        keep: KeepPlan::of(&replace.keep),
        old: old_tables::by_oid(session, facts.oid)
            .await?
            .into_iter()
            .collect(),
        swap: match publish {
            Publish::Swap => Some(SwapPlan::of(session, facts.oid, target).await?),
            _ => None,
        },
    })
}

/// A partition that new partitions cover only in part, so that it can be neither kept nor removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartlyCovered {
    /// The partition and its bound.
    pub partition: String,
    /// The new partition.
    pub asked: String,
}

impl PartlyCovered {
    /// The obstacle, in words.
    pub fn what(&self) -> String {
        format!(
            "has the partition {}, which the new partition {} covers only in part",
            self.partition, self.asked
        )
    }

    /// How to fix it.
    pub fn hint(&self) -> String {
        "declare `bounds` that end where the partitions end (such as { every = \"1 month\" }), or \
         replace the whole table: replace = { scope = \"table\" }"
            .to_owned()
    }
}

/// The partitions that new ones cover completely.
pub async fn covered(
    session: &Session,
    key: &KeyPlan,
    asked: &[PartitionRange],
    partitions: Vec<OldTable>,
) -> Result<Result<Vec<OldTable>, PartlyCovered>, PostgresError> {
    let mut candidates = Vec::new();
    let mut existing = Vec::new();
    for old in partitions {
        let bound = old.bound.clone().unwrap_or_default();
        if let Some((lower, upper)) = ranges::parse(&bound) {
            existing.push(PartitionRange {
                label: format!("{} ({bound})", qualified(&old.schema, &old.name)),
                lower,
                upper,
            });
            candidates.push(old);
        }
    }
    let found = ranges::coverage(session, &key.comparable_type(), asked, &existing).await?;
    let mut old = Vec::new();
    for (index, coverage) in found {
        match coverage {
            Coverage::Whole => old.push(candidates[index].clone()),
            Coverage::Partly(asked) => {
                return Ok(Err(PartlyCovered {
                    partition: existing[index].label.clone(),
                    asked,
                }));
            }
        }
    }
    Ok(Ok(old))
}

/// Tables of a target that `keep = true` has kept, and that are still where it put them.
pub async fn last_generation(
    session: &Session,
    target: &str,
    replace: &ReplacePlan,
    kept: &[SwitchedTable],
) -> Result<Vec<OldTable>, PostgresError> {
    let mut found: Vec<OldTable> = Vec::new();
    for table in kept {
        let Some(original) = &table.original else {
            continue;
        };
        let Some(standing) = old_tables::by_oid(session, table.table_oid).await? else {
            continue;
        };
        let as_it_was = OldTable {
            schema: original.schema.clone(),
            name: original.name.clone(),
            ..standing.clone()
        };
        let is_ours = replace.kept_name(target, &as_it_was).as_ref() == Some(&table.table_name)
            && standing.schema == table.table_schema
            && standing.name == table.table_name
            && standing.bound.is_none();
        if is_ours && found.iter().all(|known| known.oid != standing.oid) {
            found.push(standing);
        }
    }
    Ok(found)
}

/// Refuses a name for kept tables if another object has this name. The tables that the last `keep = true` kept do not
/// count, because they are dropped first.
pub async fn refuse_taken_names(
    session: &Session,
    ledger_schema: &str,
    staging_schema: &str,
    flow: &FlowPlan,
) -> Result<(), PlanFailure> {
    let Some(replace) = &flow.replace else {
        return Ok(());
    };
    let target = flow.target();
    let names: Vec<String> = replace
        .old
        .iter()
        .filter_map(|old| replace.kept_name(&target, old))
        .collect();
    let standing = catalog::relation_names(session, staging_schema, Some(&names)).await?;
    let mut last = Vec::new();
    if replace.keep == KeepPlan::UntilNext && ledger::exists(session, ledger_schema).await? {
        let kept = Ledger::new(ledger_schema)
            .kept_of_target(session, &target)
            .await?;
        last = last_generation(session, &target, replace, &kept).await?;
    }
    let oids: Vec<u32> = last.iter().map(|old| old.oid).collect();
    let dependents = old_tables::dependents(session, &oids).await?;
    if !dependents.is_empty() {
        return Err(PlanError::Target {
            target,
            what: format!(
                "was replaced before, and the table that was kept then cannot be dropped, because \
                 other objects depend on it: {}",
                dependents.join(", ")
            ),
            hint: "drop those objects, or keep the old rows under another name: replace = { keep = \"NAME\" }"
                .to_owned(),
        }.into());
    }
    match standing
        .iter()
        .find(|name| last.iter().all(|old| old.name != **name))
    {
        None => Ok(()),
        Some(name) => {
            let table = qualified(staging_schema, name);
            Err(PlanError::Target {
                target,
                what: format!("would be kept as {table}, but that name is taken"),
                hint: format!(
                    "DROP TABLE {table}; if nobody needs it, or choose another name: replace = {{ \
                     keep = \"NAME\" }}"
                ),
            }
            .into())
        }
    }
}

/// The tables that are taken out, and what happens to them, in words.
pub fn words(replace: &ReplacePlan, target: &str, staging_schema: &str) -> Vec<String> {
    if replace.by_rows {
        return vec![
            "replaces all its rows: they are deleted, and the new rows are inserted; readers are \
             not blocked, writers wait"
                .to_owned(),
            "the replaced rows are gone after the switch".to_owned(),
        ];
    }
    let is_whole = replace.old.iter().any(|old| old.bound.is_none());
    let mut lines = vec![match replace.scope {
        _ if is_whole => {
            "replaces the table itself; the switch waits for sessions that read it".to_owned()
        }
        ReplaceScope::Table => format!(
            "replaces all {} of its partitions; the switch waits for sessions that read it",
            replace.old.len()
        ),
        ReplaceScope::Partitions => "replaces the partitions that the new partitions cover \
                                     completely; the switch waits for sessions that read the \
                                     target"
            .to_owned(),
    }];
    const SHOWN: usize = 8;
    let fate = |old: &OldTable| match replace.kept_name(target, old) {
        None => "dropped".to_owned(),
        Some(name) => format!("kept as {}", qualified(staging_schema, &name)),
    };
    for old in replace.old.iter().take(SHOWN) {
        let words = match &old.bound {
            Some(bound) => format!(" ({bound})"),
            None => String::new(),
        };
        lines.push(format!("  {}{words} is {}", old.qualified(), fate(old)));
    }
    if replace.old.len() > SHOWN {
        lines.push(format!("  ... and {} more", replace.old.len() - SHOWN));
    }
    lines.push(match &replace.keep {
        KeepPlan::Drop => {
            "the replaced rows are gone after the switch: `inrush undo` cannot restore them \
             (unless replace = { keep = true })"
                .to_owned()
        }
        KeepPlan::UntilNext => {
            "the replaced rows are kept, for `inrush undo`, until the target is \
                                replaced with keep = true again"
                .to_owned()
        }
        KeepPlan::Under(_) => {
            "the replaced rows are kept, for `inrush undo`, until somebody drops them".to_owned()
        }
    });
    lines
}
