//! What the staging tables of a flow lack, so that a target which has refused one row can refuse it alone.

use super::foreign_keys::ForeignKey;
use super::row_numbers;
use crate::destination::postgres::{DestinationError, Session};
use crate::plan::{FlowPlan, Plan, Publish};

/// What is needed to find the rows that a target refuses.
pub enum Need {
    /// Rows that stand in the order of the files.
    Order,
    /// That, where they stand in many tables.
    Numbers,
    /// The foreign keys that are held against all rows of a partition when it is attached.
    ForeignKeys(Vec<ForeignKey>),
}

impl Need {
    /// What helps against a refusal at the switch; nothing where all rows have to go with one.
    pub async fn of(
        session: &Session,
        plan: &Plan,
        flow: &FlowPlan,
        refusal: &DestinationError,
    ) -> Result<Option<Need>, DestinationError> {
        match &flow.publish {
            Publish::Insert | Publish::Upsert { .. } => return Ok(Some(Need::Order)),
            Publish::Route(route) if route.only_copies_rows() => return Ok(Some(Need::Numbers)),
            _ => {}
        }
        let facts = refusal.row_refusal();
        let broken = facts.and_then(|facts| facts.constraint.as_ref());
        let keys = ForeignKey::of_target(session, plan, flow).await?;
        let is_among = keys.iter().any(|key| Some(&key.name) == broken);
        Ok(is_among.then_some(Need::ForeignKeys(keys)))
    }

    /// Whether units that one stream has loaded are what is needed.
    pub fn is_order(&self) -> bool {
        matches!(self, Need::Order)
    }

    /// The statements that give it to a staging table before its rows come.
    pub fn additions(&self, table: &str) -> Vec<String> {
        match self {
            Need::Order => Vec::new(),
            Need::Numbers => row_numbers::add_to(table).into(),
            Need::ForeignKeys(keys) => keys.iter().map(|key| key.add_to(table)).collect(),
        }
    }
}
