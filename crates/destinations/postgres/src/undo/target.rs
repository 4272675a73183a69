//! The undo of one target: the tables that are taken out, the tables that are put back, and the reasons against it.

use std::collections::BTreeSet;

use inrush_destination::UndoneTarget;
use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_plan::identity;

use super::error::UndoError;
use crate::ledger::{Ledger, Original, StoredRun, SwitchedTable, What};
use crate::old_tables::{self, OldTable};
use crate::quote::{cut, identifier, qualified};
use crate::staging::BOUNDS_CHECK;
use crate::{Session, catalog};

/// How a run is undone.
pub struct UndoMethod<'a> {
    pub session: &'a Session,
    pub run: &'a StoredRun,
    /// Drop the tables that are taken out.
    pub drop: bool,
}

/// One target of the run.
#[derive(Debug)]
pub struct TargetUndo {
    /// The target, `schema.table`, quoted.
    pub target: String,
    /// The OID that the target had at the end of the run.
    oid: u32,
    /// The schema where tables are kept.
    staging_schema: String,
    /// The run created the target, so all of it is taken out.
    made: bool,
    /// Partitions that the run attached.
    attached: Vec<SwitchedTable>,
    /// Tables that the run took out and kept.
    kept: Vec<(SwitchedTable, Original)>,
}

/// The work for each target of a run.
pub async fn plan(
    session: &Session,
    book: &Ledger,
    run: &StoredRun,
) -> Result<Vec<TargetUndo>, UndoError> {
    let impossible = |what: String, hint: &str| UndoError::Impossible {
        run: run.name.clone(),
        what,
        hint: hint.to_owned(),
    };
    let tables = book.switched_tables(session, run.run_id).await?;
    let units = book.units(session, run.run_id).await?;
    let later = book.later_runs(session, run.run_id).await?;
    let mut targets = Vec::new();
    for (index, target) in run.targets.iter().enumerate() {
        let own: Vec<&SwitchedTable> = tables.iter().filter(|t| t.target == *target).collect();
        if own.iter().any(|table| table.what == What::Inserted) {
            return Err(impossible(
                format!(
                    "it added its rows to those of {target}, or merged its rows into them, and they can no longer be \
                     told apart"
                ),
                "if it appended, delete its rows by hand, using the contents of the files; if it merged (mode = \"upsert\"), it \
                 overwrote rows that were there before: restore the table from a backup",
            ));
        }
        if let Some(dropped) = own.iter().find(|table| table.what == What::Dropped) {
            return Err(impossible(
                format!(
                    "it dropped {} of {target}, which it replaced",
                    qualified(&dropped.table_schema, &dropped.table_name)
                ),
                "load the earlier files again; replace = { keep = true } keeps replaced rows",
            ));
        }
        let made = own.iter().any(|table| table.what == What::Made);
        if let (true, Some(later)) = (made, later.iter().find(|run| run.targets.contains(target))) {
            return Err(impossible(
                format!(
                    "it created {target}, and run {} has loaded into that table since",
                    later.name
                ),
                "undo the later run first",
            ));
        }
        let of = |what| own.iter().filter(move |table| table.what == what).copied();
        targets.push(TargetUndo {
            target: target.clone(),
            oid: run.target_oids.get(index).copied().unwrap_or_default(),
            staging_schema: units
                .iter()
                .find(|unit| unit.target == *target)
                .map(|unit| unit.staging_schema.clone())
                .unwrap_or_default(),
            made,
            attached: of(What::Attached).cloned().collect(),
            kept: of(What::Kept)
                .filter_map(|table| Some((table.clone(), table.original.clone()?)))
                .collect(),
        });
    }
    Ok(targets)
}

impl TargetUndo {
    /// Fails if the tables are not as the run left them.
    pub async fn check(&self, session: &Session, run: &StoredRun) -> Result<(), UndoError> {
        let impossible = |what: String, hint: &str| {
            Err(UndoError::Impossible {
                run: run.name.clone(),
                what,
                hint: hint.to_owned(),
            })
        };
        let by_hand = "the rest has to be repaired by hand";
        let standing = old_tables::by_oid(session, self.oid).await?;
        let Some(standing) = standing.filter(|table| table.qualified() == self.target) else {
            return impossible(
                format!(
                    "{} was dropped, renamed or created again since",
                    self.target
                ),
                by_hand,
            );
        };
        let partitions = old_tables::partitions(session, standing.oid).await?;
        for table in &self.attached {
            let found = partitions.iter().find(|old| old.oid == table.table_oid);
            if found.is_none_or(|old| old.bound != table.bound) {
                return impossible(
                    format!(
                        "{}, which it attached to {}, is no longer its partition {}",
                        qualified(&table.table_schema, &table.table_name),
                        self.target,
                        table.bound.as_deref().unwrap_or_default()
                    ),
                    "a later run has replaced it (undo that run first), or somebody removed it",
                );
            }
        }
        if self.made {
            let own: BTreeSet<u32> = self.attached.iter().map(|table| table.table_oid).collect();
            if let Some(other) = partitions.iter().find(|old| !own.contains(&old.oid)) {
                return impossible(
                    format!(
                        "it created {}, which has got the partition {} since",
                        self.target,
                        other.qualified()
                    ),
                    "detach that partition first, or leave the table as it is",
                );
            }
        }
        for (table, _) in &self.kept {
            let found = old_tables::by_oid(session, table.table_oid).await?;
            let name = qualified(&table.table_schema, &table.table_name);
            if found.is_none_or(|old| old.qualified() != name || old.bound.is_some()) {
                return impossible(
                    format!(
                        "{name}, where it kept the old rows of {}, is gone",
                        self.target
                    ),
                    "a later run that replaced the target has dropped it, or somebody else has; \
                     load the earlier files again",
                );
            }
        }
        Ok(())
    }

    /// Adds a CHECK to each table that is put back. The CHECK proves the table's bound, so attaching the table reads no
    /// rows.
    pub async fn prove_bounds(&self, session: &Session) -> Result<(), UndoError> {
        for (table, _) in &self.kept {
            let Some(condition) = &table.condition else {
                continue;
            };
            let name = qualified(&table.table_schema, &table.table_name);
            let check = identifier(BOUNDS_CHECK);
            let sql = format!(
                "ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {check}, \
                 ADD CONSTRAINT {check} CHECK ({condition})"
            );
            session
                .execute(&sql, &format!("proving the bound of {name}"))
                .await?;
        }
        Ok(())
    }

    /// Undoes the target, inside the transaction.
    pub async fn carry_out(&self, way: &UndoMethod<'_>) -> Result<UndoneTarget, UndoError> {
        let session = way.session;
        let doing = format!("undoing the load of {}", self.target);
        let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", self.target);
        session.execute(&lock, &doing).await?;
        self.check(session, way.run).await?;
        let mut done = UndoneTarget {
            target: self.target.clone(),
            ..UndoneTarget::default()
        };
        for table in &self.attached {
            let Some(old) = old_tables::by_oid(session, table.table_oid).await? else {
                continue;
            };
            if !self.made {
                let detach = old_tables::detach(&self.target, &old);
                session.execute(&detach, &doing).await?;
            }
            if !(self.made && way.drop) {
                self.put_away(way, &old, &mut done).await?;
            }
        }
        if self.made
            && let Some(old) = old_tables::by_oid(session, self.oid).await?
        {
            self.put_away(way, &old, &mut done).await?;
        }
        // A default partition comes last, when all others are attached.
        let (defaults, others): (Vec<_>, Vec<_>) = self
            .kept
            .iter()
            .partition(|(table, _)| table.bound.as_deref() == Some("DEFAULT"));
        for (table, original) in others.into_iter().chain(defaults) {
            self.put_back(way, table, original).await?;
            done.put_back
                .push(qualified(&original.schema, &original.name));
        }
        Ok(done)
    }

    /// Takes a table out of the target: drops it, or moves it to the staging schema.
    async fn put_away(
        &self,
        way: &UndoMethod<'_>,
        old: &OldTable,
        done: &mut UndoneTarget,
    ) -> Result<(), UndoError> {
        let doing = format!("taking {} out", old.qualified());
        let digest = identity::digest([way.run.name.as_str(), &old.schema, &old.name]);
        let name = format!(
            "{}_undone_{}",
            cut(&old.name, POSTGRES_NAME_BYTES_MAX - 16),
            &digest[..8]
        );
        let is_empty_default =
            old.is_default() && !catalog::has_rows(way.session, &old.qualified(), &doing).await?;
        let kept = (!way.drop && !is_empty_default).then_some(name);
        let place = kept
            .as_deref()
            .map(|name| (self.staging_schema.as_str(), name));
        for statement in old_tables::drop_or_keep(old, place) {
            way.session.execute(&statement, &doing).await?;
        }
        if !is_empty_default {
            let kept = kept.map(|name| qualified(&self.staging_schema, &name));
            done.taken_out.push((old.qualified(), kept));
        }
        Ok(())
    }

    /// Puts a table back to its former place.
    async fn put_back(
        &self,
        way: &UndoMethod<'_>,
        table: &SwitchedTable,
        original: &Original,
    ) -> Result<(), UndoError> {
        let session = way.session;
        let name = qualified(&original.schema, &original.name);
        let doing = format!("putting {name} back");
        let Some(old) = old_tables::by_oid(session, table.table_oid).await? else {
            return Ok(());
        };
        let taken = catalog::relation_names(session, &original.schema, None).await?;
        if taken.contains(&original.name) {
            return Err(UndoError::Impossible {
                run: way.run.name.clone(),
                what: format!("{name} would be restored, but another object has that name now"),
                hint: "rename that object, then run the same command".to_owned(),
            });
        }
        // If an index's old name is taken by now, the index keeps its name.
        let indexes: Vec<String> = original
            .indexes
            .iter()
            .map(|index| match taken.contains(index) {
                true => format!("{}_{}", cut(index, POSTGRES_NAME_BYTES_MAX - 11), old.oid),
                false => index.clone(),
            })
            .collect();
        for statement in old_tables::relocate(&old, &original.schema, &original.name, &indexes) {
            session.execute(&statement, &doing).await?;
        }
        let Some(bound) = &table.bound else {
            return Ok(());
        };
        let attach = format!(
            "ALTER TABLE {} ATTACH PARTITION {name} {bound}",
            self.target
        );
        session.execute(&attach, &doing).await?;
        let drop = format!(
            "ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {}",
            identifier(BOUNDS_CHECK)
        );
        session.execute(&drop, &doing).await?;
        Ok(())
    }
}
