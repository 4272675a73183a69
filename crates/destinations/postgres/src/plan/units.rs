//! Load units: which files share a staging table, what it is called, and which statements make,
//! fill and ready it.

use std::collections::BTreeSet;

use inrush_files::Split;
use inrush_package::NAME_BYTES_MAX;
use inrush_rows::column::Column;
use inrush_rows::compression::Compression;
use inrush_source::SourceError;

use super::bounds::{self, Interval};
use super::{Commit, KeyPlan, Publish, UnitPlan, WireForm};
use crate::catalog::TableFacts;
use crate::engine::plan::error::PlanError;
use crate::engine::plan::identity;
use crate::quote::{cut, qualified};
use crate::staging::{self, Model};
use crate::verify;
use crate::verify::Comparison;

/// What the units of a flow have in common.
pub struct Common<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
    /// The run's key.
    pub run_key: &'a str,
    /// Everything that shapes rows, in one text.
    pub shape: &'a str,
    /// The staging schema.
    pub staging_schema: &'a str,
    /// What staging tables are made after.
    pub model: &'a Model,
    /// The columns that the files fill.
    pub columns: &'a [Column],
    /// How rows are sent.
    pub wire: &'a WireForm,
    /// The partition key.
    pub key: Option<&'a KeyPlan>,
    /// The target, where it exists.
    pub facts: Option<&'a TableFacts>,
    /// How units become part of the target.
    pub publish: &'a Publish,
    /// Relations of the target's schema, whose names are taken.
    pub taken: &'a BTreeSet<String>,
    /// COPY with FREEZE.
    pub freeze: bool,
    /// What is verified of each unit.
    pub comparison: &'a Comparison,
}

/// Groups files into units: one for each part, for each interval, or one in all.
pub fn group(
    common: &Common<'_>,
    splits: Vec<Split>,
    intervals: &[Interval],
) -> Result<Vec<UnitPlan>, PlanError> {
    let groups: Vec<(Vec<Split>, Option<&Interval>)> = match common.key {
        // What is in the target stays there, so a file that changed must not touch the others.
        None if *common.publish == Publish::Straight(Commit::EachSplit) => splits
            .into_iter()
            .map(|split| (vec![split], None))
            .collect(),
        None => vec![(splits, None)],
        Some(_) if intervals.is_empty() => splits
            .into_iter()
            .map(|split| (vec![split], None))
            .collect(),
        Some(_) => {
            let mut groups: Vec<(Vec<Split>, Option<&Interval>)> = intervals
                .iter()
                .map(|interval| {
                    let own = interval.files.iter().map(|index| splits[*index].clone());
                    (own.collect(), Some(interval))
                })
                .collect();
            let placed: BTreeSet<usize> = intervals
                .iter()
                .flat_map(|interval| interval.files.iter().copied())
                .collect();
            // Files without a row lie in no partition, and are accounted for all the same.
            for (index, split) in splits.iter().enumerate() {
                if !placed.contains(&index) {
                    groups.push((vec![split.clone()], None));
                }
            }
            groups
        }
    };
    let mut names = PartitionNames::new(common.table, common.taken);
    groups
        .into_iter()
        .enumerate()
        .map(|(index, (splits, interval))| unit(common, &mut names, index + 1, splits, interval))
        .collect()
}

fn unit(
    common: &Common<'_>,
    names: &mut PartitionNames<'_>,
    number: usize,
    splits: Vec<Split>,
    interval: Option<&Interval>,
) -> Result<UnitPlan, PlanError> {
    let (bounds, key_bounds) = match (interval, common.key) {
        (Some(interval), Some(key)) => {
            let column = &common.columns[key.column_index];
            let (bounds, key_bounds) = bounds::unit_bounds(common.flow, key, column, interval)?;
            (Some(bounds), key_bounds)
        }
        _ => (None, None),
    };
    let shape = match &bounds {
        Some(bounds) => format!("{} {}", common.shape, bounds.condition()),
        None => common.shape.to_owned(),
    };
    let key = identity::unit_key(common.run_key, &shape, &splits);
    let staging_table = format!("{}_{}", cut(common.table, 40), &key[..identity::KEY_DIGITS]);
    let schema = common.staging_schema;
    let column_names: Vec<&str> = common
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let ready = match (common.publish, common.facts) {
        (Publish::Attach | Publish::Swap { .. }, Some(facts)) => {
            staging::build_indexes(schema, &staging_table, facts)
        }
        // Of rows with one key only one can be merged.
        (Publish::Upsert { key }, _) => {
            vec![staging::build_key_index(schema, &staging_table, key)]
        }
        _ => Vec::new(),
    };
    if let Publish::Straight(commit) = common.publish {
        let mut unit = straight_unit(common, number, splits, key, staging_table, &column_names);
        if *commit == Commit::EachSplit {
            unit.share()?;
        }
        return Ok(unit);
    }
    let mut create = staging::create_staging(schema, &staging_table, common.model, bounds.as_ref());
    for column in common
        .facts
        .iter()
        .flat_map(|facts| facts.numbered(common.columns))
    {
        create.push(match (common.publish, &column.identity_sequence) {
            // The target numbers the rows when they are copied there.
            (Publish::Insert | Publish::Upsert { .. }, _) | (_, None) => {
                staging::allow_null(schema, &staging_table, &column.name)
            }
            (_, Some(sequence)) => {
                staging::number_by(schema, &staging_table, &column.name, sequence)
            }
        });
    }
    if matches!(common.publish, Publish::Insert | Publish::Upsert { .. }) {
        let drawn = common
            .facts
            .iter()
            .flat_map(|facts| facts.drawn(common.columns));
        create
            .extend(drawn.map(|column| staging::draw_later(schema, &staging_table, &column.name)));
    }
    let copy = |freeze| {
        let binary = matches!(common.wire, WireForm::Binary(_));
        staging::copy_in(schema, &staging_table, &column_names, binary, freeze)
    };
    Ok(UnitPlan {
        number,
        bytes_count: splits.iter().map(work_bytes).sum(),
        shared: false,
        partition_name: common.key.map(|_| names.take()),
        create,
        copy: copy(common.freeze),
        copy_shared: copy(false),
        measure: staging::measure(
            schema,
            &staging_table,
            common.key.map(|key| key.column.as_str()),
        ),
        verify: verify::compared(common.comparison, &qualified(schema, &staging_table)),
        ready,
        staging_table,
        key,
        splits,
        bounds,
        key_bounds,
        key_set: None,
    })
}

/// A unit whose rows go straight into the target: one that a stream loads as a whole.
fn straight_unit(
    common: &Common<'_>,
    number: usize,
    splits: Vec<Split>,
    key: String,
    staging_table: String,
    column_names: &[&str],
) -> UnitPlan {
    let binary = matches!(common.wire, WireForm::Binary(_));
    let copy = staging::copy_in(common.schema, common.table, column_names, binary, false);
    UnitPlan {
        number,
        bytes_count: splits.iter().map(work_bytes).sum(),
        shared: false,
        partition_name: None,
        create: Vec::new(),
        copy: copy.clone(),
        copy_shared: copy,
        measure: String::new(),
        verify: None,
        ready: Vec::new(),
        staging_table,
        key,
        splits,
        bounds: None,
        key_bounds: None,
        key_set: None,
    }
}

/// How much text a split holds, as far as its size tells: text of this kind shrinks to about a
/// quarter.
pub(super) fn work_bytes(split: &Split) -> u64 {
    match split.file.compression {
        Compression::None if split.file.table().is_none() => split.size_bytes(),
        _ => split.size_bytes().saturating_mul(4),
    }
}

impl UnitPlan {
    /// Makes this unit one that several streams fill. Its table is committed before its rows, so
    /// COPY cannot FREEZE them.
    pub fn share(&mut self) -> Result<(), SourceError> {
        let pieces = self.pieces()?;
        self.share_in(pieces);
        Ok(())
    }

    pub(super) fn share_in(&mut self, pieces: Vec<Split>) {
        self.shared = true;
        self.copy = self.copy_shared.clone();
        self.splits = pieces;
    }

    /// What several streams can load of it at the same time.
    pub(super) fn pieces(&self) -> Result<Vec<Split>, SourceError> {
        let mut found = Vec::with_capacity(self.splits.len());
        for split in &self.splits {
            found.extend(inrush_files::pieces(split)?);
        }
        Ok(found)
    }
}

/// Names for partitions that nothing else has.
pub struct PartitionNames<'a> {
    table: &'a str,
    taken: &'a BTreeSet<String>,
    last: usize,
}

impl<'a> PartitionNames<'a> {
    /// Names for partitions of `table`; `taken` are all names of its schema.
    pub fn new(table: &'a str, taken: &'a BTreeSet<String>) -> PartitionNames<'a> {
        PartitionNames {
            table,
            taken,
            last: 0,
        }
    }

    /// The next name that nothing has.
    pub fn take(&mut self) -> String {
        loop {
            self.last += 1;
            let suffix = format!("_p{}", self.last);
            let name = format!("{}{suffix}", cut(self.table, NAME_BYTES_MAX - suffix.len()));
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters_and_skip_what_is_taken() {
        assert_eq!(cut("größe", 4), "grö");
        assert_eq!(cut("größe", 3), "gr");
        let taken = BTreeSet::from(["orders_p1".to_owned(), "orders_p3".to_owned()]);
        let mut names = PartitionNames::new("orders", &taken);
        assert_eq!(names.take(), "orders_p2");
        assert_eq!(names.take(), "orders_p4");
    }
}
