//! Lookups that add members to their reference (`unmatched = "add"`): what the package says about them, before the destination
//! looks at the table.

use std::sync::Arc;

use inrush_package::{Connection, Flow, Package, Step, TableName};
use inrush_transform::lookup::{MemberKey, Members};

use super::StepPlan;
use crate::error::PlanError;

/// The members that a lookup of a flow adds.
#[derive(Clone, Debug)]
pub struct AskedMembers {
    flow: String,
    /// The index of the step.
    pub step: usize,
    /// The reference.
    pub table: TableName,
    /// The columns of its key, in the order of their names.
    pub key: Vec<String>,
    /// For each of these columns, its place in the key of the lookup.
    pub places: Vec<usize>,
    /// The column of the reference that is taken.
    pub number: String,
    /// The column of the flow that gets it.
    pub own: String,
    /// The numbers that the streams have.
    pub members: Arc<Members>,
}

impl AskedMembers {
    /// The members that the lookups of a flow add. Refuses a reference in another database than the target's, and columns that
    /// depend on a member's number: the publish may replace the number by another one of the same member.
    pub fn of(
        package: &Package,
        flow: &Flow,
        flow_name: &str,
        steps: Option<&StepPlan>,
        partition_by: &[String],
    ) -> Result<Vec<AskedMembers>, PlanError> {
        let mut found = Vec::new();
        for (step, asked) in flow.steps.iter().enumerate() {
            if !asked.adds_members() {
                continue;
            }
            let lookup = steps.and_then(|steps| steps.lookup(step));
            let lookup = lookup.expect("a step that adds members is a lookup of the plan");
            let members = lookup.members().expect("it adds members");
            let refused = |what: &str, hint: &str| refusal(flow_name, step, what, hint);
            // The reference's own spelling of its columns.
            let columns = lookup.spec.reference.columns().iter();
            let mut key: Vec<(usize, &String)> =
                columns.map(|column| &column.name).enumerate().collect();
            let taken = key.split_off(lookup.spec.on.len());
            let (Some(own), Some((_, number))) = (lookup.spec.take.first(), taken.first()) else {
                return Err(refused("it takes no column", "take the identity column"));
            };
            key.sort_by_key(|(_, name)| *name);
            let asked = AskedMembers {
                flow: flow_name.to_owned(),
                step,
                table: table(package, flow, asked, &refused)?,
                key: key.iter().map(|(_, name)| (*name).clone()).collect(),
                places: key.into_iter().map(|(place, _)| place).collect(),
                number: (*number).clone(),
                own: own.name.clone(),
                members: Arc::clone(members),
            };
            asked.refuse_later_uses(steps, partition_by)?;
            found.push(asked);
        }
        Ok(found)
    }

    /// A refusal of the step.
    pub fn refusal(&self, what: &str, hint: &str) -> PlanError {
        refusal(&self.flow, self.step, what, hint)
    }

    /// Keys in the order of the reference's columns, sorted, each with its place among those given. Two processes reserve the
    /// same keys in the same order, so they cannot deadlock.
    pub fn in_order(places: &[usize], keys: &[MemberKey]) -> Vec<(MemberKey, usize)> {
        let ordered = |key: &MemberKey| places.iter().map(|place| key[*place].clone()).collect();
        let mut keys: Vec<(MemberKey, usize)> = keys.iter().map(ordered).zip(0..).collect();
        keys.sort();
        keys
    }

    fn refuse_later_uses(
        &self,
        steps: Option<&StepPlan>,
        partition_by: &[String],
    ) -> Result<(), PlanError> {
        let own = &self.own;
        let hint = "the number of a member is known for certain only when the rows are switched in: use it only as a column of \
                    the target";
        if partition_by.contains(own) {
            return Err(self.refusal(&format!("`{own}` is the partition key of the target"), hint));
        }
        match steps.and_then(|steps| steps.step_that_names(own, self.step + 1)) {
            None => Ok(()),
            Some(step) => Err(self.refusal(&format!("step {} uses `{own}`", step + 1), hint)),
        }
    }
}

fn refusal(flow: &str, step: usize, what: &str, hint: &str) -> PlanError {
    PlanError::Mismatch {
        flow: flow.to_owned(),
        what: format!("step {}, unmatched = \"add\": {what}", step + 1),
        hint: hint.to_owned(),
    }
}

/// The reference, which must be in the database of the target.
fn table(
    package: &Package,
    flow: &Flow,
    step: &Step,
    refused: &dyn Fn(&str, &str) -> PlanError,
) -> Result<TableName, PlanError> {
    let lookup = step.lookup.as_deref();
    let connection = lookup.and_then(|lookup| lookup.connection.as_deref());
    let own = package.connection_of(flow).ok();
    let place = |name: &str| {
        let found = package.connections.get(name);
        found.map(|Connection { url, options, .. }| (url.trim(), options))
    };
    let (Some(connection), Some(table)) = (connection, lookup.and_then(|it| it.table.as_ref()))
    else {
        return Err(refused(
            "the reference is not a table of a connection",
            "name a table of the target's database",
        ));
    };
    if own.and_then(place) != place(connection) {
        return Err(refused(
            &format!(
                "the reference is read from `{connection}`, and members are added in the transaction of the target, which is in `{}`",
                own.unwrap_or("another database")
            ),
            "use unmatched = \"reject\", or a reference in the database of the target",
        ));
    }
    TableName::parse(table)
        .map_err(|kind| refused(&kind.to_string(), "write the reference as `schema.table`"))
}
