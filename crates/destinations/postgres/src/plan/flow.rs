//! Makes the plan of one flow in stages; the type of each stage has the facts that are known after it.

use std::sync::Arc;

use inrush_package::{Bounds, OneOrMany};
use inrush_plan::{LoadFlow, PlanError, Writes};

use super::bounds::Interval;
use super::flow_checks::FlowChecks;
use super::flow_columns::{FlowColumns, RangeKey};
use super::flow_replacement::Replacement;
use super::flow_request::FlowRequest;
use super::flow_target::{Arrival, FlowTarget};
use super::parts::{self, Part};
use super::publishing::Publishing;
use super::units::UnitPlanner;
use super::{
    FlowCopy, FlowPlan, NewUnit, Publish, intervals, routed_units, routing, server_copy, target,
};
use crate::plan::failure::PlanFailure;

/// The plan of a flow; notes for the user are added to `notes`.
pub async fn plan(
    request: &FlowRequest<'_>,
    notes: &mut Vec<String>,
) -> Result<FlowPlan, PlanFailure> {
    let mut target = FlowTarget::find(request).await?;
    notes.extend(target::check(request.flow, &target)?);
    if target.is_routed() {
        routing::check(&target, notes)?;
    }
    let columns = FlowColumns::resolve(request, &target, notes).await?;
    if target.facts.is_none() && columns.partitioning_of_source().is_some() {
        target.arrival = Arrival::Routed;
    }
    let publishing = Publishing::decide(request, &target, &columns, notes).await?;
    let server_copy = server_copy::decide(request, &target, &columns, &publishing).await?;
    let checks = FlowChecks::of(request, &target, &columns, &publishing).await?;
    let intervals = intervals::declared(request, &target, &columns).await?;
    let replacement =
        Replacement::find(request, &target, &columns, &publishing, &intervals).await?;
    let parts = parts_of_files(request, &target, &columns, notes)?;
    let stages = Stages {
        request,
        target,
        columns,
        publishing,
        server_copy,
        checks,
        replacement,
    };
    let units = stages.units(&intervals, &parts).await?;
    Ok(stages.into_plan(units))
}

/// The parts of files that are sorted by their key, if the flow asks for parts.
fn parts_of_files(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, PlanError> {
    let (Some(key), Bounds::Parts(asked)) = (columns.key_of_units(), &request.flow.bounds) else {
        return Ok(Vec::new());
    };
    parts::cut(
        &target.flow_name,
        &*columns.read.source,
        &columns.read.inputs.dialect,
        &columns.read.columns[key.column_index],
        asked.parts,
        notes,
    )
}

/// Everything that is known before the units are planned.
struct Stages<'a> {
    request: &'a FlowRequest<'a>,
    target: FlowTarget<'a>,
    columns: FlowColumns,
    publishing: Publishing,
    server_copy: FlowCopy,
    checks: FlowChecks,
    replacement: Replacement,
}

impl Stages<'_> {
    async fn units(
        &self,
        intervals: &[Interval],
        parts: &[Part],
    ) -> Result<Vec<NewUnit>, PlanFailure> {
        let planner = UnitPlanner::new(
            self.request,
            &self.target,
            &self.columns,
            &self.publishing,
            &self.checks,
            &self.replacement,
        );
        let units = planner.plan(intervals, parts)?;
        match &self.publishing.publish {
            Publish::Route(route) => routed_units::route(&planner, route, units).await,
            _ => Ok(units),
        }
    }

    fn into_plan(self, units: Vec<NewUnit>) -> FlowPlan {
        let flow = self.request.flow;
        // Sums and keys are computed from decoded values, so rows that have them cannot pass without decoding.
        let rows_pass = self.columns.rows_pass
            && self.checks.of_reading.verify.only_counts()
            && self.columns.key_of_units().is_none();
        let units = units.into_iter().map(|unit| (unit.load, unit.statements));
        let (units, statements) = units.unzip();
        let FlowColumns {
            mut read,
            resolved,
            range_key,
            members,
            ..
        } = self.columns;
        let nothing_new = read.inputs.nothing_new.take();
        let asked = self.request.reading(&self.target);
        let reading = read.planned(&asked, self.checks.of_reading);
        FlowPlan {
            load: Arc::new(LoadFlow {
                reading,
                mode: flow.mode,
                has_rows: self.target.facts.as_ref().map(|facts| facts.has_rows),
                nothing_new,
                writes: self.publishing.publish.writes(),
                saved_table: self.target.sql,
                asked_members: Vec::new(),
                turn: 0,
                sums: None,
                keeps_versions: self.publishing.publish.keeps_versions(),
                is_analyzed: false,
                // Splits that are committed one by one are not loaded again.
                keeps_pipes: flow.rejects.rows_accepted() > 0
                    && self.publishing.publish.writes() != Writes::EachSplit,
                units,
            }),
            comparison: self.checks.comparison,
            schema: self.target.schema.to_owned(),
            table: self.target.table.to_owned(),
            facts: self.target.facts,
            publish: self.publishing.publish,
            replace: self.replacement.plan,
            pre_sql: OneOrMany::statements(&flow.pre_sql),
            post_sql: OneOrMany::statements(&flow.post_sql),
            model: self.publishing.model,
            default_grants: self.publishing.default_grants,
            new_indexes: self.publishing.new_indexes,
            indexes: flow.indexes,
            column_types: resolved.type_sql,
            wire: resolved.wire,
            native_shapes: resolved.native_shapes,
            rows_pass,
            server_copy: self.server_copy,
            key: match range_key {
                RangeKey::OfUnits(key) => Some(key),
                RangeKey::None | RangeKey::OfNewPartitions(_) => None,
            },
            statements,
            members,
            overlap: self.replacement.overlap,
        }
    }
}
