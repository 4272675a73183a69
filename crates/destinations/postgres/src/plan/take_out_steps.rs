//! The steps that take rows or tables out of a target before its new rows are put in: `inrush check` prints them, and
//! the switch performs them (`switch/take_out.rs`).

use inrush_destination::Step as Shown;
use inrush_package::ReplaceScope;

use super::replace_mode::{KeepPlan, ReplacePlan};
use crate::old_tables::{self, OldTable};

/// A step that takes something out of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOutStep {
    /// Deletes all rows of a plain target, which is kept.
    DeleteRows,
    /// Drops the tables that the last replacement kept: `keep = true` keeps one generation.
    DropLastKept,
    /// Takes out each replaced table, and drops or keeps it.
    TakeOutTables,
}

/// The steps of a replacement.
pub fn of(replace: &ReplacePlan) -> Vec<TakeOutStep> {
    if replace.by_rows {
        return vec![TakeOutStep::DeleteRows];
    }
    let mut steps = Vec::new();
    if replace.keep == KeepPlan::UntilNext {
        steps.push(TakeOutStep::DropLastKept);
    }
    steps.push(TakeOutStep::TakeOutTables);
    steps
}

/// The statement that deletes all rows of a target.
pub fn delete_rows(target: &str) -> String {
    format!("DELETE FROM {target}")
}

/// The statements that take out a table, which is dropped, or kept under this name in the staging schema.
pub fn of_table(
    target: &str,
    old: &OldTable,
    kept_name: Option<&str>,
    staging_schema: &str,
) -> Vec<String> {
    let detached = old.bound.as_ref().map(|_| old_tables::detach(target, old));
    let kept = kept_name.map(|name| (staging_schema, name));
    let mut statements: Vec<String> = detached.into_iter().collect();
    statements.extend(old_tables::drop_or_keep(old, kept));
    statements
}

/// Passes the steps of a replacement to `see`, as the plan prints them.
pub fn each_step(
    replace: &ReplacePlan,
    target: &str,
    staging_schema: &str,
    see: &mut dyn FnMut(Shown),
) {
    for step in of(replace) {
        match step {
            TakeOutStep::DeleteRows => {
                see(Shown::statement("SET LOCAL search_path = DEFAULT"));
                see(Shown::statement(delete_rows(target)));
                see(Shown::statement("SET LOCAL search_path = pg_catalog"));
            }
            TakeOutStep::DropLastKept => {
                let drop = "DROP TABLE <the table that the last replacement kept>";
                see(Shown::sketch(drop).only_if("it kept one"));
            }
            TakeOutStep::TakeOutTables => {
                each_step_of_tables(replace, target, staging_schema, see);
            }
        }
    }
}

fn each_step_of_tables(
    replace: &ReplacePlan,
    target: &str,
    staging_schema: &str,
    see: &mut dyn FnMut(Shown),
) {
    if replace.scope == ReplaceScope::Partitions && replace.old.is_empty() {
        let mut see = |sketch: &str| {
            see(Shown::sketch(sketch).only_if("a new partition covers it completely"));
        };
        see(&format!(
            "ALTER TABLE {target} DETACH PARTITION <a partition>"
        ));
        let statements: &[&str] = match replace.keep {
            KeepPlan::Drop => &["DROP TABLE <the partition>"],
            _ => &[
                "ALTER INDEX <each of the partition> RENAME TO <another name>",
                "ALTER TABLE <the partition> <RENAME TO or SET SCHEMA>",
                "ALTER INDEX <each of the partition> RENAME TO <its name as kept>",
            ],
        };
        statements.iter().copied().for_each(see);
    }
    for old in &replace.old {
        let kept_name = replace.kept_name(target, old);
        for statement in of_table(target, old, kept_name.as_deref(), staging_schema) {
            let step = Shown::statement(statement);
            see(match old.is_default() {
                true => step.only_if("it has rows"),
                false => step,
            });
        }
    }
}
