//! Second stage of a flow's plan: its files, its columns, and its range partition key.

use inrush_package::{Bounds, Flow, Mode};
use inrush_plan::PlanError;
use inrush_plan::reading::flow_reading::FlowReading;
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::ValueSource;
use inrush_source::TablePartitioning;

use super::columns::{ResolvedColumns, ServerTypes};
use super::flow_request::FlowRequest;
use super::flow_target::{Arrival, FlowTarget};
use super::{
    KeyKind, KeyPlan, MembersPlan, bounds, collations, members, own_source, passing,
    unchecked_types,
};
use crate::plan::failure::PlanFailure;

/// How a range partition key is used.
pub enum RangeKey {
    /// There is no such key, or rows are routed into existing partitions.
    None,
    /// Each unit is a partition.
    OfUnits(KeyPlan),
    /// Rows are routed, also into partitions that are created for them.
    OfNewPartitions(KeyPlan),
}

/// The files and columns of a flow.
pub struct FlowColumns {
    /// The files, with their columns.
    pub read: FlowReading,
    /// The forms of the columns.
    pub resolved: ResolvedColumns,
    /// True if the source sends rows in the form that the columns take.
    pub rows_pass: bool,
    /// The members that its lookups add to their references.
    pub members: Vec<MembersPlan>,
    /// The column of the range partition key of the target, or of the future target.
    pub key_name: Option<String>,
    /// How its ranges are used.
    pub range_key: RangeKey,
}

impl FlowColumns {
    /// Finds the files and resolves their columns. Notes for the user are added to `notes`.
    pub async fn resolve(
        request: &FlowRequest<'_>,
        target: &FlowTarget<'_>,
        notes: &mut Vec<String>,
    ) -> Result<FlowColumns, PlanFailure> {
        let flow = request.flow;
        let facts = target.facts.as_ref();
        let key_name = key_name(flow, target);
        // Rows that are routed into an existing target may lack a key: its default partition takes them.
        let key = key_name.as_deref();
        let key = key.filter(|_| !target.is_routed() || facts.is_none());
        let asked = request.reading(target);
        let mut types = ServerTypes::new(request.session, facts, request.options);
        let (read, types) = FlowReading::of(&asked, key, &mut types, notes)?;
        let mut resolved = ResolvedColumns::of(target, &read.columns, types)?;
        if facts.is_none() {
            let of_source = &read.inputs.collations;
            collations::take_over(
                request.session,
                &target.sql,
                of_source,
                &read.columns,
                &mut resolved,
                notes,
            )
            .await?;
        }
        let source = &*read.source;
        own_source::refuse(request, target, source).await?;
        let rows_pass = passing::rows_pass(request.session, &read, &resolved).await?;
        notes.extend(unchecked_types::answer(
            request,
            target,
            &resolved.unchecked,
        )?);
        let range_key = range_key(flow, target, key_name.as_deref(), &read.columns, &resolved)?;
        let adding = members::plan(request, target, &read, &resolved, key_name.as_deref());
        let members = adding.await?;
        Ok(FlowColumns {
            read,
            resolved,
            rows_pass,
            members,
            key_name,
            range_key,
        })
    }

    /// The range partition key, if units become partitions.
    pub fn key_of_units(&self) -> Option<&KeyPlan> {
        match &self.range_key {
            RangeKey::OfUnits(key) => Some(key),
            RangeKey::None | RangeKey::OfNewPartitions(_) => None,
        }
    }

    /// The partitions of the table that is read, if a new target gets them.
    pub fn partitioning_of_source(&self) -> Option<&TablePartitioning> {
        let structure = self.read.inputs.structure.as_ref()?;
        structure.partitioning.as_ref()
    }

    /// The range partition key, if partitions can be created for routed rows.
    pub fn key_of_new_partitions(&self) -> Option<&KeyPlan> {
        match &self.range_key {
            RangeKey::OfNewPartitions(key) => Some(key),
            RangeKey::None | RangeKey::OfUnits(_) => None,
        }
    }
}

/// The target's range partition column, or else the one that the flow names.
fn key_name(flow: &Flow, target: &FlowTarget<'_>) -> Option<String> {
    let facts = target.facts.as_ref();
    let has_ranges = !matches!(target.arrival, Arrival::Straight(_)) && flow.mode != Mode::Upsert;
    let of_target = facts
        .and_then(|facts| facts.partitioning.as_ref())
        .filter(|_| has_ranges)
        .and_then(|partitioning| match partitioning.key.as_slice() {
            [Some(key)] if partitioning.strategy == 'r' => Some(key),
            _ => None,
        });
    let of_flow = target
        .partition_by
        .as_ref()
        .filter(|_| !target.is_routed() || facts.is_none());
    of_target.or(of_flow).cloned()
}

fn range_key(
    flow: &Flow,
    target: &FlowTarget<'_>,
    key_name: Option<&str>,
    columns: &[Column],
    resolved: &ResolvedColumns,
) -> Result<RangeKey, PlanError> {
    let asks_bounds = matches!(flow.bounds, Bounds::List(_) | Bounds::Every(_));
    let Some(column) = key_name else {
        return Ok(RangeKey::None);
    };
    // Existing partitions may have any kind of key if rows are routed.
    if target.is_routed() && target.facts.is_some() && !asks_bounds {
        return Ok(RangeKey::None);
    }
    let key = key_plan(flow, target, column, columns, resolved)?;
    Ok(match target.is_routed() {
        true => RangeKey::OfNewPartitions(key),
        false => RangeKey::OfUnits(key),
    })
}

fn key_plan(
    flow: &Flow,
    target: &FlowTarget<'_>,
    column: &str,
    columns: &[Column],
    resolved: &ResolvedColumns,
) -> Result<KeyPlan, PlanError> {
    let column_index = columns
        .iter()
        .position(|known| known.name == column)
        .ok_or_else(|| {
            target.mismatch(
                format!("the files have no column `{column}`, which is the partition key"),
                "name one of the columns of the files in partition_by; files without a header get names by `columns` (--columns)",
            )
        })?;
    let is_read_before = matches!(
        (target.is_routed(), &flow.bounds),
        (true, Bounds::Every(_)) | (false, Bounds::List(_) | Bounds::Every(_) | Bounds::Parts(_))
    );
    if is_read_before && columns[column_index].source == ValueSource::Derived {
        return Err(target.mismatch(
            format!(
                "the partition key `{column}` is derived by a step, and these bounds are planned from the keys in the files"
            ),
            match target.is_routed() {
                true => "list the bounds: bounds = [\"2024-01-01\", \"2024-02-01\"]; or create the partitions before",
                false => "write routing = true and list the bounds, so that each row goes to the partition of its key",
            },
        ));
    }
    let kind = match &columns[column_index].column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => KeyKind::Integer,
        ColumnType::Date => KeyKind::Date,
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => KeyKind::Timestamp,
        ColumnType::Text { characters_max, .. } => KeyKind::Text {
            characters_max: *characters_max,
        },
        _ => {
            return Err(target.mismatch(
                format!(
                    "the partition key `{column}` has the type {}",
                    resolved.type_sql[column_index]
                ),
                "keys are integers, dates, timestamps or texts",
            ));
        }
    };
    Ok(KeyPlan {
        column: column.to_owned(),
        column_index,
        collation: match &target.facts {
            Some(facts) => {
                let known = facts.columns.iter().find(|known| known.name == column);
                known.and_then(|known| known.collation.clone())
            }
            None => {
                let mut columns = resolved.new_columns.iter();
                let new = columns.find(|new| new.name == column);
                new.and_then(|new| new.collation.clone())
            }
        },
        type_sql: resolved.type_sql[column_index].clone(),
        kind,
        rule: bounds::rule(&flow.bounds),
    })
}
