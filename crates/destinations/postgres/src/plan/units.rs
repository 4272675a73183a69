//! Load units: their files, the names of their staging tables, and the statements that create, fill and prepare these.

use inrush_destination::{Filling, UnitLayout};
use inrush_plan::{LoadUnit, PlanError, Portions, identity};
use inrush_rows::ids::UnitKey;
use inrush_source::Split;

use super::bounds::{self, Interval};
use super::flow_checks::FlowChecks;
use super::flow_columns::FlowColumns;
use super::flow_replacement::Replacement;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use super::identity::Shape;
use super::partition_names::PartitionNames;
use super::parts::{self, Part};
use super::publishing::Publishing;
use super::{NewUnit, Publish, UnitStatements, WireForm, layout};
use crate::quote::{cut, qualified};
use crate::staging::{self, CopyForm, UnitBounds};
use crate::verify;

/// Makes the units of a flow; it has everything that they have in common.
pub struct UnitPlanner<'a> {
    /// The flow, and the inputs for its plan.
    pub request: &'a FlowRequest<'a>,
    /// Its target.
    pub target: &'a FlowTarget<'a>,
    /// Its columns.
    pub columns: &'a FlowColumns,
    /// How units become part of the target.
    pub publishing: &'a Publishing,
    checks: &'a FlowChecks,
    replacement: &'a Replacement,
    /// The description of all settings that affect rows.
    shape: String,
}

impl<'a> UnitPlanner<'a> {
    /// The inputs that all units share, from the stages before.
    pub fn new(
        request: &'a FlowRequest<'a>,
        target: &'a FlowTarget<'a>,
        columns: &'a FlowColumns,
        publishing: &'a Publishing,
        checks: &'a FlowChecks,
        replacement: &'a Replacement,
    ) -> UnitPlanner<'a> {
        let resolved = &columns.resolved;
        let shape = Shape {
            target: &target.sql,
            dialect: &columns.read.inputs.dialect,
            encoding: request.flow.format.encoding.as_deref(),
            columns: &columns.read.columns,
            type_sql: &resolved.type_sql,
            wire: &resolved.wire,
            key: columns.key_name.as_deref(),
            existing: target
                .facts
                .as_ref()
                .map(|facts| (facts.structure.as_str(), facts.indexes.as_slice())),
            model: &publishing.model,
            publish: &publishing.publish,
            level: checks.comparison.level,
            trailer: request.flow.trailer.as_ref(),
            summed: &checks.of_reading.verify.summed,
            new_indexes: &publishing.new_indexes,
            steps: columns.read.steps.as_deref(),
        };
        UnitPlanner {
            request,
            target,
            columns,
            publishing,
            checks,
            replacement,
            shape: shape.describe(),
        }
    }

    /// Makes the units: one for each part, one for each interval, one for each file, or one for all files. `intervals`
    /// is empty if units are not partitions.
    pub fn plan(&self, intervals: &[Interval], parts: &[Part]) -> Result<Vec<NewUnit>, PlanError> {
        let splits: Vec<Split> = match parts {
            [] => {
                let source = &self.columns.read.source;
                let whole = |index| Split::of(source.input(index), source.whole(index));
                (0..source.input_count()).map(whole).collect()
            }
            parts => parts.iter().map(|part| part.split.clone()).collect(),
        };
        let mut taken = self.publishing.taken.clone();
        for name in self.replacement.names_freed(self.target) {
            taken.remove(name);
        }
        let mut names = PartitionNames::new(self.target.table, &taken);
        let key = self.columns.key_of_units();
        let layout = layout::lay_out(
            &self.publishing.publish,
            splits.len(),
            intervals,
            key.map(|_| &mut names),
        );
        let checked = layout.check(splits.len());
        checked.map_err(|source| PlanError::Layout {
            flow: self.target.flow_name.clone(),
            source,
        })?;
        // Each part is moved into its unit.
        let mut splits: Vec<Option<Split>> = splits.into_iter().map(Some).collect();
        let mut units = layout
            .units
            .into_iter()
            .enumerate()
            .map(|(index, unit)| self.unit(index + 1, unit, &mut splits, intervals.get(index)))
            .collect::<Result<Vec<NewUnit>, PlanError>>()?;
        if let Some(key) = key {
            for (unit, part) in units.iter_mut().zip(parts) {
                parts::bound(&mut unit.load, key, part);
            }
        }
        Ok(units)
    }

    fn unit(
        &self,
        number: usize,
        layout: UnitLayout,
        splits: &mut [Option<Split>],
        interval: Option<&Interval>,
    ) -> Result<NewUnit, PlanError> {
        let key = self.columns.key_of_units();
        let (bounds, key_bounds) = match (interval, key) {
            (Some(interval), Some(key)) => {
                let column = &self.columns.read.columns[key.column_index];
                let flow_name = &self.target.flow_name;
                let (bounds, key_bounds) = bounds::unit_bounds(flow_name, key, column, interval)?;
                (Some(bounds), key_bounds)
            }
            _ => (None, None),
        };
        let own = layout.splits.iter();
        let splits: Vec<Split> = own.filter_map(|at| splits[*at].take()).collect();
        let unit_key = self.unit_key(bounds.as_ref(), &splits);
        let staging_table = format!("{}_{}", cut(self.target.table, 40), unit_key.short());
        let load = LoadUnit {
            staging_table: staging_table.clone(),
            ..LoadUnit::new(
                number,
                unit_key,
                splits,
                layout.filling,
                Portions::Pieces,
                layout.publishes_into,
            )
        };
        if let Publish::Straight(_) = self.publishing.publish {
            let mut load = load;
            if load.filling == Filling::EachSplit {
                load.share(&*self.columns.read.source)?;
            }
            let statements = self.straight_statements();
            return Ok(NewUnit { load, statements });
        }
        let schema = self.staging_schema();
        let key_column = key.map(|key| key.column.as_str());
        let comparison = &self.checks.comparison;
        let verify = verify::compared(comparison, &qualified(schema, &staging_table));
        Ok(NewUnit {
            load: LoadUnit {
                key_bounds,
                is_verified: verify.is_some(),
                ..load
            },
            statements: UnitStatements {
                create: self.create(&staging_table, bounds.as_ref()),
                copy_alone: self.copy(schema, &staging_table, self.request.package.run.freeze),
                copy_shared: self.copy(schema, &staging_table, false),
                measure: staging::measure(schema, &staging_table, key_column),
                ready: self.ready(&staging_table),
                bounds,
                verify,
            },
        })
    }

    /// The statements of a unit whose rows are written directly to the target.
    fn straight_statements(&self) -> UnitStatements {
        let copy = self.copy(self.target.schema, self.target.table, false);
        UnitStatements {
            create: Vec::new(),
            copy_alone: copy.clone(),
            copy_shared: copy,
            measure: String::new(),
            verify: None,
            ready: Vec::new(),
            bounds: None,
        }
    }

    fn unit_key(&self, bounds: Option<&UnitBounds>, splits: &[Split]) -> UnitKey {
        let run_key = self.request.runs.run_key();
        match bounds {
            Some(bounds) => {
                let shape = format!("{} {}", self.shape, bounds.condition());
                identity::unit_key(run_key, &shape, splits)
            }
            None => identity::unit_key(run_key, &self.shape, splits),
        }
    }

    /// The schema of the staging tables.
    pub fn staging_schema(&self) -> &'a str {
        &self.request.package.run.staging_schema
    }

    /// The COPY that fills a table with the flow's columns.
    pub fn copy(&self, schema: &str, table: &str, freeze: bool) -> String {
        let columns: Vec<&str> = self
            .columns
            .read
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let form = match self.columns.resolved.wire {
            WireForm::Binary(_) => CopyForm::Binary,
            WireForm::Text { .. } => CopyForm::Text,
        };
        staging::copy_in(schema, table, &columns, form, freeze)
    }

    /// Statements that create a staging table, including those for columns that the files leave out.
    fn create(&self, staging_table: &str, bounds: Option<&UnitBounds>) -> Vec<String> {
        let schema = self.staging_schema();
        let publish = &self.publishing.publish;
        let is_copied = matches!(publish, Publish::Insert | Publish::Upsert { .. });
        let mut create =
            staging::create_staging(schema, staging_table, &self.publishing.model, bounds);
        create.extend(self.unfilled(staging_table, is_copied));
        let swap = self.replacement.plan.as_ref();
        if let Some(swap) = swap.and_then(|plan| plan.swap.as_ref()) {
            create.extend(swap.fit_out(&qualified(schema, staging_table)));
        }
        create
    }

    /// Statements about columns that the files leave out, such as numbering them. `is_copied`: the rows are copied into
    /// the target, which then numbers them.
    pub fn unfilled(&self, staging_table: &str, is_copied: bool) -> Vec<String> {
        let schema = self.staging_schema();
        let Some(facts) = &self.target.facts else {
            return Vec::new();
        };
        let loaded = &self.columns.read.columns;
        let numbered =
            facts
                .numbered(loaded)
                .map(|column| match (is_copied, &column.identity_sequence) {
                    (true, _) | (_, None) => {
                        staging::allow_null(schema, staging_table, &column.name)
                    }
                    (false, Some(sequence)) => {
                        staging::number_by(schema, staging_table, &column.name, sequence)
                    }
                });
        let of_versions = facts.columns.iter().filter(|column| column.of_versions);
        let of_versions =
            of_versions.map(|column| staging::allow_null(schema, staging_table, &column.name));
        let drawn = facts
            .drawn(loaded)
            .filter(|_| is_copied)
            .map(|column| staging::draw_later(schema, staging_table, &column.name));
        numbered.chain(of_versions).chain(drawn).collect()
    }

    /// The statements that build the indexes of a new target.
    fn new_indexes(&self, staging_table: &str) -> impl Iterator<Item = String> {
        let schema = self.staging_schema();
        self.publishing.new_indexes.iter().map(move |index| {
            index.build(schema, staging_table, &index.staging_name(staging_table))
        })
    }

    /// Statements that prepare a staging table for the switch after it is filled.
    fn ready(&self, staging_table: &str) -> Vec<String> {
        let schema = self.staging_schema();
        match (&self.publishing.publish, &self.target.facts) {
            (Publish::Attach | Publish::Swap, Some(facts)) => {
                staging::build_indexes(schema, staging_table, facts)
            }
            (Publish::Rename { primary_key }, _) => {
                let key = primary_key.iter();
                let key =
                    key.map(|key| staging::build_primary_key(schema, staging_table, &key.columns));
                key.chain(self.new_indexes(staging_table)).collect()
            }
            // The new target has the same indexes, so ATTACH finds these.
            (Publish::CreatePartitioned { .. }, _) => self.new_indexes(staging_table).collect(),
            // Of several rows with one key, only one can be merged.
            (Publish::Upsert { indexes, .. }, _) => {
                let table = qualified(schema, staging_table);
                indexes.iter().map(|index| index.build_on(&table)).collect()
            }
            _ => Vec::new(),
        }
    }
}
