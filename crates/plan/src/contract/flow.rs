//! Makes the plan of one flow: its files, its columns, its units.

use std::sync::Arc;

use inrush_destination::{
    Abilities, Ability, ColumnPlan, Destination, ReplacedRows, TargetName, TargetPlan,
};
use inrush_package::{Bounds, Flow, Keep, OneOrMany, Package, Verify};

use super::columns::{self, ContractTypes};
use super::merge::AskedMerge;
use super::units::UnitPlanner;
use super::{ContractFlow, bounds, members, refuse};
use crate::earlier::package_runs::PackageRuns;
use crate::identity::description::{self, Description};
use crate::load_flow::{LoadFlow, Writes};
use crate::reading::flow_reading::{FlowReading, ReadingRequest};
use crate::steps::{AskedMembers, Given};
use crate::verify::{ColumnSums, DestinationSums};
use crate::{PlanError, PlanOptions};

/// Makes the plan of one flow.
pub struct ContractFlowPlanner<'a> {
    /// The destination.
    pub destination: &'a dyn Destination,
    /// Its abilities.
    pub abilities: &'a Abilities,
    /// The package.
    pub package: &'a Package,
    /// The options of the plan besides the package.
    pub options: &'a PlanOptions<'a>,
    /// The flow.
    pub flow: &'a Flow,
    /// The earlier runs of the package.
    pub runs: &'a PackageRuns<'a>,
    /// The target's name.
    pub name: &'a TargetName,
}

impl ContractFlowPlanner<'_> {
    /// The plan. Notes for the user are added to `notes`.
    pub fn plan(&self, notes: &mut Vec<String>) -> Result<ContractFlow, PlanError> {
        let name = self
            .flow
            .name
            .clone()
            .unwrap_or_else(|| self.name.name.clone());
        self.package.check_direct_writes()?;
        let mode = refuse::write_mode(self.flow);
        let folds_names = self.abilities.folds_names;
        let merge = AskedMerge::of(self.flow, &name, self.name, folds_names)?;
        let mut facts = self.destination.target(self.name)?;
        if let Some((what, hint)) = facts.as_ref().and_then(|facts| facts.obstacle.clone()) {
            return Err(PlanError::Mismatch {
                flow: name,
                what,
                hint,
            });
        }
        if let Some(merge) = &merge {
            merge.claim(facts.as_mut())?;
        }
        notes.extend(facts.iter().flat_map(|facts| facts.notes.iter().cloned()));
        let has_new_bounds = self.flow.bounds != Bounds::default();
        let takes_new_bounds = facts.as_ref().is_none_or(|facts| facts.takes_new_bounds);
        if has_new_bounds && !takes_new_bounds {
            notes.push(format!(
                "{} exists and keeps its partitions: `bounds` is for a new table",
                self.name.sql
            ));
        }
        let request = ReadingRequest {
            package: self.package,
            flow: self.flow,
            name: &name,
            target: &self.name.sql,
            options: self.options,
            runs: self.runs,
        };
        let mut types = ContractTypes {
            destination: self.destination,
            facts: facts.as_ref(),
        };
        let (mut read, types) = FlowReading::of(&request, None, &mut types, notes)?;
        if facts.is_none() && !read.inputs.primary_key.is_empty() {
            notes.push(format!(
                "{} is new, and does not get the primary key of the source ({})",
                self.name.sql,
                read.inputs.primary_key.join(", ")
            ));
        }
        let planned = columns::planned(&read.columns, types);
        let merge = merge.map(|merge| merge.plan(&planned, facts.as_ref()));
        let merge = merge.transpose()?;
        let partition_by = self.partition_by(&name, &planned, facts.as_ref())?;
        let asked_members = AskedMembers::of(
            self.package,
            self.flow,
            &name,
            read.steps.as_deref(),
            &partition_by,
        )?;
        let members = members::plan(self.destination, &asked_members, &planned)?;
        let bounds = match takes_new_bounds && (facts.is_none() || has_new_bounds) {
            true => self.bounds(&name, &read, &planned, &partition_by)?,
            false => Vec::new(),
        };
        let level = self.flow.verify.unwrap_or(self.package.run.verify);
        let types = planned.iter().map(|column| &column.sql);
        let mut checks = read.checks(&request, types, None)?;
        let mut shape = Description::default();
        shape
            .say("target", self.name.sql.clone())
            .say("format", description::dialect(&read.inputs.dialect))
            .say_some("encoding", self.flow.format.encoding.clone())
            .say("columns", description::columns(&read.columns))
            .say("types", types_of(&planned))
            .say_unless("partition_by", partition_by.clone(), &Vec::new())
            // A careful load has rejected rows by this key.
            .say_some("merge_key", merge.as_ref().map(|merge| merge.key.clone()));
        description::sums(
            &mut shape,
            self.flow.trailer.as_ref(),
            &checks.verify.summed,
        );
        description::steps(&mut shape, read.steps.as_deref());
        // Units that were loaded without sums have none to compare.
        shape.say_word("verify", level);
        let target = TargetPlan {
            name: self.name.clone(),
            columns: planned,
            mode,
            replaced: replaced_rows(&self.flow.replace.keep),
            partition_by,
            bounds,
            merge,
            members,
            shape: shape.clone().into_text(),
            pre_sql: OneOrMany::statements(&self.flow.pre_sql),
            post_sql: OneOrMany::statements(&self.flow.post_sql),
        };
        if target.merge.is_some() {
            self.destination.check_merge(&target)?;
        }
        let sums = match level {
            Verify::Count => None,
            Verify::Sums | Verify::Rows => Some(Arc::new(ColumnSums {
                names: target.columns.iter().map(|it| it.name.clone()).collect(),
                forms: self.destination.sum_forms(&target)?,
            })),
        };
        checks.verify.destination = sums.clone().map(|sums| sums as Arc<dyn DestinationSums>);
        let units = UnitPlanner {
            destination: self.destination,
            abilities: self.abilities,
            run_key: self.runs.run_key(),
            flow: &name,
            source: &*read.source,
            target: &target,
            shape: &shape,
        };
        let units = units.plan()?;
        if let Some(steps) = read.steps.take() {
            let columns = &read.columns;
            let given = Given::ask(self.destination, steps, columns, level, &*read.source)?;
            read.steps = Some(given);
        }
        let nothing_new = read.inputs.nothing_new.take();
        let reading = read.planned(&request, checks);
        Ok(ContractFlow {
            load: Arc::new(LoadFlow {
                reading,
                mode: self.flow.mode,
                has_rows: facts.as_ref().map(|facts| facts.has_rows),
                nothing_new,
                writes: Writes::Staged,
                saved_table: self.flow.table.clone(),
                asked_members,
                turn: 0,
                sums,
                keeps_versions: target
                    .merge
                    .as_ref()
                    .is_some_and(|it| it.versions.is_some()),
                is_analyzed: self.package.run.asks_to_analyze(),
                keeps_pipes: false,
                units,
            }),
            target,
            facts,
        })
    }

    /// The columns whose values decide the partition. The package and the target must agree on them.
    fn partition_by(
        &self,
        name: &str,
        planned: &[ColumnPlan],
        facts: Option<&inrush_destination::TargetFacts>,
    ) -> Result<Vec<String>, PlanError> {
        let asked: Vec<String> = self.flow.partition_column()?.into_iter().collect();
        let mismatch = |what: String, hint: &str| PlanError::Mismatch {
            flow: name.to_owned(),
            what,
            hint: hint.to_owned(),
        };
        let is_column = |name: &&String| planned.iter().any(|own| own.name == **name);
        if let Some(column) = asked.iter().find(|name| !is_column(name)) {
            return Err(mismatch(
                format!("the files have no column `{column}`, which is the partition key"),
                "name one of the columns of the files in partition_by; files without a header get names by `columns` (--columns)",
            ));
        }
        match facts
            .filter(|facts| facts.has_rows || !facts.partitioned_by.is_empty())
            .map(|facts| &facts.partitioned_by)
        {
            Some(has) if !asked.is_empty() && *has != asked => Err(mismatch(
                format!(
                    "{} is partitioned by {}, but the flow has partition_by = {asked:?}",
                    self.name.sql,
                    match has.is_empty() {
                        true => "nothing".to_owned(),
                        false => has.join(", "),
                    }
                ),
                "leave partition_by out, or name another target",
            )),
            Some(has) => Ok(has.clone()),
            None => Ok(asked),
        }
    }

    /// The bounds of the partitions; none for a destination that makes a partition for each value.
    fn bounds(
        &self,
        name: &str,
        read: &FlowReading,
        planned: &[ColumnPlan],
        partition_by: &[String],
    ) -> Result<Vec<String>, PlanError> {
        let has_bounds = self.abilities.can.contains(&Ability::Bounds);
        let mut columns = planned.iter().zip(&read.columns);
        match columns.find(|(planned, _)| has_bounds && partition_by.contains(&planned.name)) {
            Some((_, column)) => bounds::bounds(name, &self.flow.bounds, column, &*read.source),
            None => Ok(Vec::new()),
        }
    }
}

fn replaced_rows(keep: &Keep) -> ReplacedRows {
    match keep {
        Keep::Whether(false) => ReplacedRows::Removed,
        Keep::Whether(true) => ReplacedRows::KeptUntilNext,
        Keep::Name(name) => ReplacedRows::KeptAs(name.clone()),
    }
}

/// The destination's types of the columns. All other facts of a [`ColumnPlan`] come from the columns that are read.
fn types_of(planned: &[ColumnPlan]) -> Vec<String> {
    planned.iter().map(|column| column.sql.clone()).collect()
}
