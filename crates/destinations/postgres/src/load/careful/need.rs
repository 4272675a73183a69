//! Finds the constraints and indexes that the staging tables of a flow lack. With them, the server refuses only the bad
//! rows; without them, the target would refuse all rows.

use super::foreign_keys::ForeignKey;
use super::package_keys::{PackageKey, RefusedStaged};
use crate::plan::additions::Additions;
use crate::plan::{FlowPlan, Plan, Publish, UnitPlan};
use crate::quote::qualified;
use crate::{PostgresError, Session, row_numbers};

/// The requirements for finding the rows that a target refuses, apart from loading the rows in the order of the files.
#[derive(Debug, Default)]
pub struct Need {
    /// A column of row numbers, if the rows are in many tables.
    has_numbers: bool,
    /// The foreign keys that ATTACH checks for all rows of a partition.
    keys: Vec<ForeignKey>,
    /// The foreign keys that refer to tables which the package itself loads.
    package_keys: Vec<PackageKey>,
}

impl Need {
    /// The requirements after a refusal at the switch, of copied rows or of a table to be attached; `None` if no single
    /// row can be blamed.
    pub async fn of(
        session: &Session,
        plan: &Plan,
        flow: &FlowPlan,
        refusal: &PostgresError,
        is_copied: bool,
    ) -> Result<Option<Need>, PostgresError> {
        let (has_numbers, is_attached) = match &flow.publish {
            Publish::Insert | Publish::Upsert { .. } => (false, false),
            Publish::Route(route) => (route.copies_rows(), !route.only_copies_rows()),
            _ => (false, true),
        };
        let mut need = Need {
            has_numbers,
            ..Need::default()
        };
        // Statements of the package that run before may insert the referenced rows, which do not exist yet.
        let brings_none = |other: &FlowPlan| {
            other.pre_sql.is_empty() && (other.name == flow.name || other.post_sql.is_empty())
        };
        if is_attached && plan.flows.iter().all(brings_none) {
            need.keys = ForeignKey::of_target(session, plan, flow).await?;
            need.package_keys = PackageKey::of_target(session, plan, flow).await?;
        }
        let facts = refusal.row_refusal();
        let broken = facts.and_then(|facts| facts.constraint.as_ref());
        let of_package = need.package_keys.iter().map(|key| &key.name);
        let mut names = need.keys.iter().map(|key| &key.name).chain(of_package);
        let is_among = names.any(|name| Some(name) == broken);
        Ok((is_copied || is_among).then_some(need))
    }

    /// True if units that one stream has loaded meet the requirements.
    pub fn is_order(&self) -> bool {
        !self.has_numbers && self.keys.is_empty() && self.package_keys.is_empty()
    }

    /// Prepares other tables for loading units carefully.
    pub async fn prepare(&self, session: &Session, plan: &Plan) -> Result<(), PostgresError> {
        for key in &self.package_keys {
            key.index(session, plan).await?;
        }
        Ok(())
    }

    /// The additions to the staging table of a unit. `refused` are the staged rows that their own targets do not
    /// accept.
    pub fn additions(
        &self,
        plan: &Plan,
        flow: &FlowPlan,
        unit: UnitPlan<'_>,
        refused: &RefusedStaged,
    ) -> Additions {
        let table = qualified(&plan.settings.staging_schema, &unit.staging_table);
        let mut additions = Additions::default();
        if self.has_numbers {
            additions.before_rows = row_numbers::add_to(&table);
            additions.after_undo = vec![row_numbers::go_on(&table)];
        }
        let keys = self.keys.iter().map(|key| key.add_to(&table));
        additions.before_rows.extend(keys);
        for (number, key) in self.package_keys.iter().enumerate() {
            additions.add(key.additions(plan, flow, unit, number + 1, refused));
        }
        additions
    }
}
