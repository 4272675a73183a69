//! A planned load unit: the engine's part, and its statements.

use std::ops::Deref;

use inrush_destination::PublishesInto;
use inrush_plan::LoadUnit;

use crate::staging::UnitBounds;

/// The statements of a load unit, and its bounds as SQL.
#[derive(Clone, Debug)]
pub struct UnitStatements {
    /// Its bounds, if they are known before it is loaded.
    pub bounds: Option<UnitBounds>,
    /// Statements that create its staging table.
    pub create: Vec<String>,
    /// The COPY that fills it if one stream does.
    pub copy_alone: String,
    /// The COPY that fills it if several streams do. Its table is committed before its rows, so it cannot FREEZE them.
    pub copy_shared: String,
    /// The query that counts its rows and, if they have a partition key, finds the smallest and the largest key.
    pub measure: String,
    /// The query for its sums, if more than the number of rows is verified.
    pub verify: Option<String>,
    /// Statements that prepare it after it is filled, such as indexes.
    pub ready: Vec<String>,
}

/// A new load unit with its statements.
#[derive(Clone, Debug)]
pub struct NewUnit {
    /// The part that does not depend on the destination.
    pub load: LoadUnit,
    /// Its statements.
    pub statements: UnitStatements,
}

impl NewUnit {
    /// The unit as a part of a plan.
    pub fn as_plan(&self) -> UnitPlan<'_> {
        UnitPlan {
            load: &self.load,
            statements: &self.statements,
        }
    }
}

/// A load unit of a plan with its statements.
#[derive(Clone, Copy, Debug)]
pub struct UnitPlan<'a> {
    /// The part that does not depend on the destination.
    pub load: &'a LoadUnit,
    /// Its statements.
    pub statements: &'a UnitStatements,
}

/// Most callers need the part that does not depend on the destination.
impl Deref for UnitPlan<'_> {
    type Target = LoadUnit;

    fn deref(&self) -> &LoadUnit {
        self.load
    }
}

impl<'a> UnitPlan<'a> {
    /// The COPY that fills it.
    pub fn copy(&self) -> &'a str {
        match self.load.is_shared {
            true => &self.statements.copy_shared,
            false => &self.statements.copy_alone,
        }
    }

    /// The partition that it becomes.
    pub fn partition_name(&self) -> Option<&'a str> {
        match &self.load.publishes_into {
            PublishesInto::Target => None,
            PublishesInto::Partition(name) => Some(name),
        }
    }
}
