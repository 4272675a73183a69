//! The members that the lookups of a flow add to a table of the destination.

use inrush_destination::{ColumnPlan, Destination, Error, MEMBERS_BYTES_MAX, MembersPlan};
use inrush_rows::column_type::ColumnType;

use super::ContractFlow;
use crate::PlanError;
use crate::steps::AskedMembers;

/// The tables that get members, in the order of `asked`. `columns` are the columns that are loaded.
pub fn plan(
    destination: &dyn Destination,
    asked: &[AskedMembers],
    columns: &[ColumnPlan],
) -> Result<Vec<MembersPlan>, PlanError> {
    let mut planned = Vec::with_capacity(asked.len());
    for asked in asked {
        let table = &asked.table;
        let members = MembersPlan {
            table: destination.target_name(table.schema.as_deref(), &table.name)?,
            key: asked.key.clone(),
            number: asked.number.clone(),
            column: loaded(asked, columns)?,
        };
        destination
            .check_members(&members)
            .map_err(|error| match error {
                Error::Unsuitable { what, hint } => asked.refusal(&what, &hint),
                error => error.into(),
            })?;
        planned.push(members);
    }
    Ok(planned)
}

/// The column of the target that has the numbers.
fn loaded(asked: &AskedMembers, columns: &[ColumnPlan]) -> Result<Option<String>, PlanError> {
    let own = &asked.own;
    let Some(column) = columns.iter().find(|column| column.name == *own) else {
        return Ok(None);
    };
    match column.column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => Ok(Some(own.clone())),
        _ => Err(asked.refusal(
            &format!(
                "`{own}` of the target has the type {}, but the numbers of members are integers",
                column.sql
            ),
            "make it an integer column",
        )),
    }
}

/// Refuses references that are targets of the same run: their rows become visible only with the publish.
pub fn refuse_targets(flows: &[ContractFlow]) -> Result<(), PlanError> {
    for flow in flows {
        for (asked, members) in flow.asked_members.iter().zip(&flow.target.members) {
            let mut others = flows.iter();
            if let Some(other) = others.find(|other| other.target.name == members.table) {
                return Err(asked.refusal(
                    &format!(
                        "{} is also the target of flow {}",
                        members.table.sql, other.reading.name
                    ),
                    "load it by a package of its own, before this one",
                ));
            }
        }
    }
    Ok(())
}

/// The most bytes of numbers that the destination keeps.
pub fn bytes(flows: &[ContractFlow]) -> u64 {
    match flows.iter().any(|flow| !flow.target.members.is_empty()) {
        true => MEMBERS_BYTES_MAX,
        false => 0,
    }
}
