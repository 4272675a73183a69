//! The statements with which the switch adds members to their references.

use super::MemberTable;
use crate::plan::Plan;
use crate::quote::{identifier, qualified};

/// The table and the column in which the numbers of a reference's members are staged.
pub struct StagedNumbers {
    /// The staging table in SQL.
    pub table: String,
    /// The column in SQL.
    pub column: String,
}

/// What the switch needs to add members to one reference.
pub struct SwitchMembers<'a> {
    /// The first flow that adds members to it.
    pub flow: usize,
    /// The reference.
    pub reference: &'a MemberTable,
    /// The columns that have numbers of its members.
    pub staged: Vec<StagedNumbers>,
}

/// The references of a plan, in the order of their names, so that two switches do not wait for each other.
pub fn of_switch(plan: &Plan) -> Vec<SwitchMembers<'_>> {
    let mut found: Vec<SwitchMembers<'_>> = Vec::new();
    for (flow_index, flow) in plan.flows.iter().enumerate() {
        for members in &flow.members {
            let is_same = |own: &SwitchMembers<'_>| own.reference == &members.reference;
            let at = found.iter().position(is_same).unwrap_or(found.len());
            if at == found.len() {
                found.push(SwitchMembers {
                    flow: flow_index,
                    reference: &members.reference,
                    staged: Vec::new(),
                });
            }
            let Some(column) = &members.column else {
                continue;
            };
            let staged = flow.units.iter().map(|unit| StagedNumbers {
                table: qualified(&plan.settings.staging_schema, &unit.staging_table),
                column: identifier(column),
            });
            found[at].staged.extend(staged);
        }
    }
    found.sort_by_key(|own| own.reference.name());
    found
}

impl SwitchMembers<'_> {
    /// Statements that mark the members that staged rows have.
    pub fn mark(&self, reserved: &str, run: &str) -> Vec<String> {
        let own = self.reference.of_run(run);
        let statement = |StagedNumbers { table, column }: &StagedNumbers| {
            format!(
                "UPDATE {reserved} m SET is_used = true WHERE {own} AND NOT m.is_used \
                 AND EXISTS (SELECT FROM {table} s WHERE s.{column} = m.number)"
            )
        };
        without_loops(self.staged.iter().map(statement))
    }

    /// The statement that adds the marked members. It waits for a transaction that adds one of them.
    pub fn add(&self, reserved: &str, run: &str) -> String {
        let reference = self.reference;
        let key = reference.key.iter();
        let names: Vec<String> = key.map(|(name, _)| identifier(name)).collect();
        let values = reference.key.iter().zip(1..);
        let values = values.map(|((_, type_sql), at)| format!("m.key[{at}]::{type_sql}"));
        let values: Vec<String> = values.collect();
        let names = names.join(", ");
        format!(
            "INSERT INTO {} ({names}, {}) OVERRIDING SYSTEM VALUE SELECT {}, m.number::{} FROM {reserved} m \
             WHERE {} AND m.is_used AND m.existing IS NULL ORDER BY m.key ON CONFLICT ({names}) DO NOTHING",
            reference.table,
            identifier(&reference.number),
            values.join(", "),
            reference.number_type,
            reference.of_run(run)
        )
    }

    /// The statements that give staged rows the number of a member that others have added.
    pub fn replace(&self, reserved: &str, run: &str) -> Vec<String> {
        let own = self.reference.of_run(run);
        let mut statements = vec![self.reference.find_existing(reserved, run)];
        let statement = |StagedNumbers { table, column }: &StagedNumbers| {
            format!(
                "UPDATE {table} s SET {column} = m.existing FROM {reserved} m \
                 WHERE {own} AND m.existing IS NOT NULL AND s.{column} = m.number"
            )
        };
        statements.extend(without_loops(self.staged.iter().map(statement)));
        statements
    }

    /// The query for the number of marked members that are not in the reference with their numbers.
    pub fn missing(&self, reserved: &str, run: &str) -> String {
        let reference = self.reference;
        format!(
            "SELECT count(*) FROM {reserved} m WHERE {} AND m.is_used \
             AND NOT EXISTS (SELECT FROM {} d WHERE {} AND d.{} = coalesce(m.existing, m.number))",
            reference.of_run(run),
            reference.table,
            reference.has_key_of_member(),
            identifier(&reference.number)
        )
    }
}

/// Statements that join reserved members with staged rows, and the setting that they need. The server has no statistics
/// of the reserved members and assumes that there are few, so it would read all staged rows once for each of them.
fn without_loops(statements: impl Iterator<Item = String>) -> Vec<String> {
    let setting = |value: &str| std::iter::once(format!("SET LOCAL enable_nestloop = {value}"));
    let steps = setting("off").chain(statements).chain(setting("DEFAULT"));
    steps.collect()
}
