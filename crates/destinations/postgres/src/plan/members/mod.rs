//! Lookups that add members to their reference (`unmatched = "add"`): the table, its columns, and the sequence that numbers its
//! rows. `docs/design/transforms.md` has the reasons.

mod of_switch;
mod table_facts;

use std::sync::Arc;

use inrush_plan::PlanError;
use inrush_plan::reading::flow_reading::FlowReading;
use inrush_plan::steps::{AskedMembers, Members};
use inrush_rows::suggest::listed;

pub use self::of_switch::of_switch;
use self::table_facts::TableFacts;
use super::FlowPlan;
use super::columns::ResolvedColumns;
use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use crate::catalog;
use crate::plan::failure::PlanFailure;
use crate::quote::{identifier, literal, qualified};

/// The members that a lookup of a flow adds to its reference.
#[derive(Clone, Debug)]
pub struct MembersPlan {
    /// The index of the step.
    pub step: usize,
    /// The reference.
    pub reference: MemberTable,
    /// For each column of the reference's key, its place in the key of the lookup.
    pub places: Vec<usize>,
    /// The column of the target that has the numbers; `None` if they are not loaded.
    pub column: Option<String>,
    /// The numbers that the streams have.
    pub members: Arc<Members>,
}

/// A table that gets members, the same for all lookups that compare the same columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberTable {
    /// Its name in SQL.
    pub table: String,
    /// Its OID when the plan was made.
    pub oid: u32,
    /// The columns of its key in the order of their names, each with its type.
    pub key: Vec<(String, String)>,
    /// The column that the lookup takes.
    pub number: String,
    /// Its type as the server writes it.
    pub number_type: String,
    /// The sequence that numbers its rows, in SQL.
    pub sequence: String,
}

impl MemberTable {
    /// The name under which the ledger keeps its members: the table, the columns of its key, and the column of the
    /// numbers.
    pub fn name(&self) -> String {
        let key: Vec<String> = self.key.iter().map(|(name, _)| identifier(name)).collect();
        format!(
            "{} ({}) {}",
            self.table,
            key.join(", "),
            identifier(&self.number)
        )
    }

    /// The reserved members of a run in the ledger, as a condition for `m`.
    pub fn of_run(&self, run: &str) -> String {
        let name = literal(&self.name());
        format!("m.run_id = {run} AND m.reference = {}", name.trim_start())
    }

    /// The statement that records the numbers of members that others have added.
    pub fn find_existing(&self, reserved: &str, run: &str) -> String {
        let number = identifier(&self.number);
        format!(
            "UPDATE {reserved} m SET existing = d.{number} FROM {} d \
             WHERE {} AND m.existing IS NULL AND {} AND d.{number} <> m.number",
            self.table,
            self.of_run(run),
            self.has_key_of_member()
        )
    }

    /// A condition for the row of the reference `d` that has the key of the reserved member `m`.
    pub fn has_key_of_member(&self) -> String {
        let equal = self.key.iter().zip(1..).map(|((name, type_sql), at)| {
            format!("d.{} = m.key[{at}]::{type_sql}", identifier(name))
        });
        equal.collect::<Vec<_>>().join(" AND ")
    }
}

/// The members that the lookups of a flow add.
pub async fn plan(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    read: &FlowReading,
    resolved: &ResolvedColumns,
    key_name: Option<&str>,
) -> Result<Vec<MembersPlan>, PlanFailure> {
    let partition_by: Vec<String> = key_name.map(str::to_owned).into_iter().collect();
    let (package, flow) = (request.package, request.flow);
    let steps = read.steps.as_deref();
    let asked = AskedMembers::of(package, flow, &target.flow_name, steps, &partition_by)?;
    let mut found = Vec::with_capacity(asked.len());
    for asked in asked {
        let planner = Planner { request, asked };
        let mut columns = read.columns.iter();
        let own = columns.position(|column| column.name == planner.asked.own);
        let type_sql = own.map(|at| resolved.type_sql[at].as_str());
        found.push(planner.plan(type_sql).await?);
    }
    Ok(found)
}

struct Planner<'a> {
    request: &'a FlowRequest<'a>,
    asked: AskedMembers,
}

impl Planner<'_> {
    fn refused(&self, what: &str, hint: impl Into<String>) -> PlanFailure {
        self.asked.refusal(what, &hint.into()).into()
    }

    /// The members of a reference. `type_sql` is the type of the target's column that has the numbers, if it is loaded.
    async fn plan(&self, type_sql: Option<&str>) -> Result<MembersPlan, PlanFailure> {
        if let Some(commit) = self.request.straight() {
            return Err(self.refused(
                &format!(
                    "members are added by the switch, but with {} the switch does not add the rows",
                    commit.setting()
                ),
                format!("leave {} out", commit.setting()),
            ));
        }
        let AskedMembers {
            step,
            table,
            key,
            places,
            number,
            own,
            members,
            ..
        } = &self.asked;
        let schema = match &table.schema {
            Some(schema) => schema.clone(),
            None => catalog::default_schema(self.request.session, &table.name).await?,
        };
        if let Some(type_sql) = type_sql {
            self.refuse_other_types(own, type_sql)?;
        }
        Ok(MembersPlan {
            step: *step,
            reference: self
                .reference(&(schema, table.name.clone()), key, number)
                .await?,
            places: places.clone(),
            column: type_sql.map(|_| own.clone()),
            members: Arc::clone(members),
        })
    }

    fn refuse_other_types(&self, own: &str, type_sql: &str) -> Result<(), PlanFailure> {
        match type_sql {
            "smallint" | "integer" | "bigint" => Ok(()),
            _ => Err(self.refused(
                &format!("`{own}` of the target has the type {type_sql}, but members are numbered by integers"),
                "make it an integer column",
            )),
        }
    }

    /// The reference, if members can be added to it.
    async fn reference(
        &self,
        (schema, name): &(String, String),
        key: &[String],
        number: &str,
    ) -> Result<MemberTable, PlanFailure> {
        let session = self.request.session;
        let table = qualified(schema, name);
        let Some(facts) = TableFacts::find(session, &table, key, number).await? else {
            return Err(self.refused(
                &format!("{table} is not a table of the database"),
                "name a table, not a view",
            ));
        };
        let columns = || listed(key.iter().map(String::as_str));
        if !facts.is_unique {
            return Err(self.refused(
                &format!(
                    "{table} has no unique index on {} alone, so two runs could add the same member twice",
                    columns()
                ),
                format!(
                    "CREATE UNIQUE INDEX ON {table} ({});",
                    key.iter()
                        .map(|name| identifier(name))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            ));
        }
        if !facts.is_number_unique {
            return Err(self.refused(
                &format!(
                    "{table} has no unique index on {number} alone, so two members could have the same number"
                ),
                format!("CREATE UNIQUE INDEX ON {table} ({});", identifier(number)),
            ));
        }
        if let Some(generated) = &facts.generated {
            return Err(self.refused(
                &format!("`{generated}` of {table} is generated from other columns, so a member cannot have it as its key"),
                "compare a column that the server does not compute",
            ));
        }
        if let Some(folded) = &facts.folded {
            return Err(self.refused(
                &format!(
                    "`{folded}` of {table} has a collation for which different texts are equal, and lookups compare bytes"
                ),
                "use a deterministic collation",
            ));
        }
        let Some(sequence) = facts.sequence.filter(|_| facts.is_number_required) else {
            return Err(self.refused(
                &format!(
                    "the taken column `{number}` of {table} is neither an identity column nor one that is NOT NULL and takes its \
                     default from a sequence, so there are no numbers for new members"
                ),
                format!(
                    "ALTER TABLE {table} ALTER {} ADD GENERATED BY DEFAULT AS IDENTITY;",
                    identifier(number)
                ),
            ));
        };
        if facts.cycles {
            return Err(self.refused(
                &format!("the sequence {sequence} starts again at its end, so it could give a number that another member has already"),
                format!("ALTER SEQUENCE {sequence} NO CYCLE;"),
            ));
        }
        if !facts.required.is_empty() {
            let required = facts.required.iter().map(String::as_str);
            return Err(self.refused(
                &format!(
                    "a member has only its key and its number, but {table} needs values for {}, \
                     which are NOT NULL without a default",
                    listed(required)
                ),
                "give these columns defaults, or allow NULL in them",
            ));
        }
        Ok(MemberTable {
            table,
            oid: facts.oid,
            key: key.iter().cloned().zip(facts.key_types).collect(),
            number: number.to_owned(),
            number_type: facts.number_type,
            sequence,
        })
    }
}

/// Refuses references that are targets of the same run: their rows become visible only with the switch.
pub fn refuse_targets(flows: &[FlowPlan]) -> Result<(), PlanError> {
    for flow in flows {
        for members in &flow.members {
            let table = &members.reference.table;
            if let Some(other) = flows.iter().find(|other| other.target() == *table) {
                return Err(PlanError::Mismatch {
                    flow: flow.name.clone(),
                    what: format!(
                        "step {}, unmatched = \"add\": {table} is also the target of flow {}",
                        members.step + 1,
                        other.name
                    ),
                    hint: "load it by a package of its own, before this one".to_owned(),
                });
            }
        }
    }
    Ok(())
}
