//! One target that gets its rows in the transaction of the switch.

use std::collections::BTreeSet;

use inrush_destination::changes::{Change, What, kept_name_is_taken};
use inrush_destination::{Error, MergedRows, ReplacedRows, Result, WriteMode};
use inrush_rows::plural::counted;

use crate::catalog;
use crate::changes::{ChangedPartitions, TargetChange};
use crate::connection::SqlSession;
use crate::copying;
use crate::emptying;
use crate::merge::{self, SqlMerge};
use crate::moved_rows::{self, MovedRows};
use crate::partitions::Partitioning;
use crate::run::SqlRun;
use crate::shape::TableShape;
use crate::staging::Staging;
use crate::steps::{self, FillStep, Keeping};
use crate::ways::{self, Way};

/// A target that has got its rows.
pub struct Filled {
    /// The number of its rows, if that is known without counting them.
    pub rows: Option<u64>,
    /// The counts of the merged rows, if rows were merged.
    pub merged: Option<MergedRows>,
    /// The partitions that got rows, by their numbers.
    pub partitions: Vec<String>,
    /// The change of the target.
    pub change: TargetChange,
    /// Notes about the target for the report.
    pub notes: Vec<String>,
    /// Some rows were copied.
    pub has_copied: bool,
}

/// One target that gets its rows.
pub struct Filling<'a> {
    run: &'a SqlRun,
    /// The session of the switch.
    session: &'a mut SqlSession,
    /// Its place in the plan.
    place: usize,
    staging: &'a Staging,
    staged: u64,
    /// The results so far.
    filled: Filled,
}

impl<'a> Filling<'a> {
    /// Prepares to fill the target with the index `place` in the plan. Its staging table has `staged` rows.
    pub fn new(
        run: &'a SqlRun,
        session: &'a mut SqlSession,
        place: usize,
        staged: u64,
        change: Change,
    ) -> Filling<'a> {
        Filling {
            run,
            session,
            place,
            staging: &run.stagings[place],
            staged,
            filled: Filled {
                rows: None,
                merged: None,
                partitions: Vec::new(),
                change: TargetChange {
                    change,
                    partitions: None,
                },
                notes: Vec::new(),
                has_copied: false,
            },
        }
    }

    /// Fills the target.
    pub fn fill(mut self, way: &Way) -> Result<Filled> {
        self.filled.rows = self.give_rows(way)?;
        Ok(self.filled)
    }

    /// Returns the number of rows that the target then has, if that is known without counting them.
    fn give_rows(&mut self, way: &Way) -> Result<Option<u64>> {
        let staging = self.staging;
        let target = &staging.plan.name;
        let mode = staging.plan.mode;
        let Some(found) = catalog::entry(self.session, &staging.schema, &target.name)? else {
            return self.rename();
        };
        if found.kind != "table" {
            return Err(Error::Unsuitable {
                what: format!("{} is a {} now", target.sql, found.kind),
                hint: "remove it, or name another table".to_owned(),
            });
        }
        let shape = TableShape::read(self.session, &target.sql)?;
        let partitioning = shape.partitioning.as_ref();
        let staged = match partitioning {
            Some(partitioning) => ways::staged_partitions(self.session, staging, partitioning)?,
            None => Vec::new(),
        };
        self.filled.partitions = staged
            .iter()
            .map(|(number, _)| number.to_string())
            .collect();
        match (mode, partitioning) {
            (WriteMode::Create, _) if catalog::has_rows_for_certain(self.session, target)? => {
                return Err(Error::Unsuitable {
                    what: format!(
                        "{} has rows now, but had none when the load began",
                        target.sql
                    ),
                    hint: "use the mode append or replace, or empty it".to_owned(),
                });
            }
            (WriteMode::ReplacePartitions, None) => {
                return Err(Error::Unsuitable {
                    what: format!("{} has no partitions any more", target.sql),
                    hint: "use the mode replace for the whole table".to_owned(),
                });
            }
            _ => {}
        }
        let switches = match way {
            Way::Switch(before) if **before == shape => true,
            Way::Switch(_) | Way::Rename => {
                self.copied_because("it was changed while the rows were prepared");
                false
            }
            Way::Copy(reason) => {
                if let Some(reason) = reason {
                    self.copied_because(reason);
                }
                false
            }
        };
        if !switches {
            ways::refuse_other_types(self.session, staging, &shape)?;
        }
        let filled = self.filled_partitions(partitioning, &staged)?;
        let has_rows = match (mode, partitioning) {
            (WriteMode::Create, _) => false,
            (WriteMode::Append | WriteMode::ReplacePartitions, Some(_)) => !filled.is_empty(),
            // The statement that copies the rows waits for other sessions. If they add rows after this query, a later
            // undo finds these rows and is refused.
            (WriteMode::Append, None) => catalog::has_rows(self.session, target)?,
            _ => catalog::has_rows_for_certain(self.session, target)?,
        };
        self.note_change(partitioning, &staged, has_rows)?;
        let keeps = has_rows && staging.plan.replaced != ReplacedRows::Removed;
        let keeping = keeps.then(|| Keeping::of(&shape, &self.run.options));
        for step in steps::fill(mode, switches, keeping) {
            self.run.refuse_interrupted()?;
            match (step, partitioning) {
                (FillStep::Keep, _) => {
                    self.keep(&shape, &staged, keeping == Some(Keeping::Switch))?;
                }
                (FillStep::Empty, _) => emptying::empty(self.session, &target.sql)?,
                (FillStep::EmptyPartitions, Some(partitioning)) => {
                    let numbers = numbers_of(&staged);
                    emptying::empty_partitions(
                        self.session,
                        &target.sql,
                        &shape,
                        partitioning,
                        &numbers,
                    )?;
                }
                // Tables without partitions were refused above.
                (FillStep::EmptyPartitions, None) => {}
                (FillStep::Switch, Some(partitioning)) => {
                    let filled = match mode {
                        WriteMode::Append => &filled,
                        // An earlier step has emptied the partitions.
                        _ => &BTreeSet::new(),
                    };
                    self.switch_partitions(partitioning, &staged, filled)?;
                }
                (FillStep::Switch, None) => self.switch_table()?,
                (FillStep::Copy, _) => self.copy("", self.staged)?,
                (FillStep::Lock, _) => {
                    let doing = format!("cannot lock {}", target.sql);
                    self.session
                        .run(&doing, &merge::lock_statement(&staging.plan))?;
                }
                (FillStep::Merge, _) => {
                    let merge = SqlMerge::of_staging(self.session, staging)?;
                    let rows = (self.place, self.staged);
                    self.filled.merged = Some(merge.perform(self.run, self.session, rows)?);
                    self.filled.has_copied = true;
                }
                (FillStep::DropStaging, _) => staging.remove(self.session)?,
            }
        }
        let is_all = matches!(mode, WriteMode::Create | WriteMode::Replace);
        Ok(is_all.then_some(self.staged))
    }

    /// The partitions that get rows and have rows already; none if rows are not added or replaced by partition.
    fn filled_partitions(
        &mut self,
        partitioning: Option<&Partitioning>,
        staged: &[(u64, u64)],
    ) -> Result<BTreeSet<u64>> {
        let mut filled = BTreeSet::new();
        let mode = self.staging.plan.mode;
        let is_by_partition = matches!(mode, WriteMode::Append | WriteMode::ReplacePartitions);
        let Some(partitioning) = partitioning.filter(|_| is_by_partition) else {
            return Ok(filled);
        };
        for (number, _) in staged {
            self.run.refuse_interrupted()?;
            if ways::has_rows_in(self.session, self.staging, partitioning, *number)? {
                filled.insert(*number);
            }
        }
        Ok(filled)
    }

    /// Notes the change of a target that exists. If `has_rows`, the target has rows, which are replaced or stay beside
    /// the new ones.
    fn note_change(
        &mut self,
        partitioning: Option<&Partitioning>,
        staged: &[(u64, u64)],
        has_rows: bool,
    ) -> Result<()> {
        let mode = self.staging.plan.mode;
        let replaces = matches!(mode, WriteMode::Replace | WriteMode::ReplacePartitions);
        self.filled.change.change.what = match (has_rows, replaces) {
            (false, _) => What::Filled,
            (true, true) => What::Replaced,
            (true, false) if mode == WriteMode::Upsert => What::Merged,
            (true, false) => What::Added,
        };
        let is_by_partition = matches!(mode, WriteMode::Append | WriteMode::ReplacePartitions);
        let of_partitions = partitioning.filter(|_| is_by_partition);
        self.filled.change.partitions = of_partitions.map(|partitioning| ChangedPartitions {
            rows: staged.to_vec(),
            function_changed_at: partitioning.changed_at.clone(),
        });
        if self.filled.change.change.what == What::Replaced {
            let target = &self.staging.plan.name.sql;
            let numbers = self.changed_numbers(staged);
            let rows = catalog::rows_told(self.session, target, numbers.as_deref())?;
            self.filled.change.change.rows_before = rows;
        }
        Ok(())
    }

    /// The numbers of the partitions that get rows; `None` if the target changes as a whole.
    fn changed_numbers(&self, staged: &[(u64, u64)]) -> Option<Vec<u64>> {
        let partitions = self.filled.change.partitions.as_ref();
        partitions.map(|_| numbers_of(staged))
    }

    /// Keeps the replaced rows in a table. If the rows are switched into that table, they have left the target.
    fn keep(&mut self, shape: &TableShape, staged: &[(u64, u64)], by_switch: bool) -> Result<()> {
        let (run, staging) = (self.run, self.staging);
        let target = &staging.plan.name.sql;
        let kept = match &staging.plan.replaced {
            ReplacedRows::Removed => return Ok(()),
            ReplacedRows::KeptUntilNext => {
                // Only one generation is kept, so that the database does not grow with each run.
                let run_key = &run.record.run_key;
                run.ledger.drop_kept(self.session, run_key, target)?;
                self.filled.change.change.until_next = true;
                run.ledger.kept_table(run.record.run_id, self.place)
            }
            ReplacedRows::KeptAs(name) => {
                let kept = staging.named_beside(name)?;
                let found = catalog::entry(self.session, &staging.schema, name)?;
                if let Some(found) = found {
                    return Err(kept_name_is_taken(target, &kept, &found.kind));
                }
                kept
            }
        };
        let numbers = self.changed_numbers(staged);
        let rows = MovedRows {
            table: target,
            shape,
            apart: &kept,
            numbers: numbers.as_deref(),
        };
        self.filled.change.change.rows_before = rows.take_out(self.session, by_switch)?;
        self.filled.change.change.kept = Some(kept);
        Ok(())
    }

    fn rename(&mut self) -> Result<Option<u64>> {
        let target = &self.staging.plan.name;
        if matches!(
            self.staging.plan.mode,
            WriteMode::Append | WriteMode::Upsert
        ) {
            return Err(Error::Unsuitable {
                what: format!("{} is gone; it was there when the load began", target.sql),
                hint: "create it again, or use the mode create".to_owned(),
            });
        }
        if self.staging.new_partitions()?.is_some() {
            self.filled.partitions = catalog::filled_partitions(self.session, &self.staging.sql)?;
        }
        let doing = format!("cannot make {}", target.sql);
        self.session.run(&doing, &self.staging.rename_statement())?;
        Ok(Some(self.staged))
    }

    /// Switches the rows into each partition that is empty, and copies the rows of partitions that have rows already
    /// (`filled`).
    fn switch_partitions(
        &mut self,
        partitioning: &Partitioning,
        staged: &[(u64, u64)],
        filled: &BTreeSet<u64>,
    ) -> Result<()> {
        let target = &self.staging.plan.name.sql;
        let placed: u64 = staged.iter().map(|(_, rows)| rows).sum();
        if placed != self.staged {
            return Err(Error::Refused {
                doing: format!("cannot switch the rows of {target}"),
                message: format!("{} rows are staged, but {placed} of them are in partitions", self.staged),
                hint: Some("somebody changed the staging table: run `inrush cleanup`, then the same command".to_owned()),
            });
        }
        let (to_copy, to_switch): (Vec<_>, Vec<_>) = staged
            .iter()
            .copied()
            .partition(|(number, _)| filled.contains(number));
        for (number, _) in to_switch {
            self.run.refuse_interrupted()?;
            let doing = format!("cannot switch partition {number} of {target}");
            let from = &self.staging.sql;
            let statement = moved_rows::switch_partition_statement(from, target, number);
            self.session.run(&doing, &statement)?;
        }
        let mut copied = Vec::new();
        let mut copied_rows = 0;
        for (number, rows) in to_copy {
            self.run.refuse_interrupted()?;
            self.copy(&copying::of_partition(partitioning, number), rows)?;
            copied.push(number.to_string());
            copied_rows += rows;
        }
        if !copied.is_empty() {
            self.filled.notes.push(format!(
                "{target}: {} had rows, and got {} by INSERT ... SELECT: {}",
                counted(copied.len() as u64, "partition"),
                counted(copied_rows, "row"),
                copied.join(", ")
            ));
        }
        Ok(())
    }

    /// Switches all rows into a table without partitions; copies them if it has rows.
    fn switch_table(&mut self) -> Result<()> {
        let target = &self.staging.plan.name;
        if self.staging.plan.mode == WriteMode::Append
            && catalog::has_rows_for_certain(self.session, target)?
        {
            return self.copy("", self.staged);
        }
        let doing = format!("cannot switch the rows of {}", target.sql);
        let statement = moved_rows::switch_statement(&self.staging.sql, &target.sql);
        self.session.run(&doing, &statement)?;
        Ok(())
    }

    fn copied_because(&mut self, reason: &str) {
        self.filled.notes.push(format!(
            "{}: rows were added by INSERT ... SELECT and not by SWITCH, because {reason}",
            self.staging.plan.name.sql
        ));
    }

    /// Copies rows of staging into the target, and compares the server's count.
    fn copy(&mut self, condition: &str, rows: u64) -> Result<()> {
        let staging = self.staging;
        let target = &staging.plan.name;
        self.filled.has_copied = true;
        let session = &mut *self.session;
        let doing = format!("cannot add the rows to {}", target.sql);
        let insert = copying::insert(session, staging, condition)?;
        match insert.run(session, &doing)?.count() {
            Some(added) if added != rows => Err(Error::Refused {
                doing,
                message: format!("{rows} rows are staged, but {added} were added"),
                hint: Some(
                    "a trigger of the table, or IGNORE_DUP_KEY of an index, drops rows: fix or leave out those rows, or load \
                     into another table"
                        .to_owned(),
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// The numbers of partitions that have rows.
fn numbers_of(staged: &[(u64, u64)]) -> Vec<u64> {
    staged.iter().map(|(number, _)| *number).collect()
}
