//! A planned load unit: the engine's part, and its statements.

use std::ops::{Deref, DerefMut};

use inrush_destination::PublishesInto;
use inrush_engine::native::plan::LoadUnit;

use crate::staging::UnitBounds;

/// One load unit, planned.
#[derive(Clone, Debug)]
pub struct UnitPlan {
    /// The part that does not depend on the destination.
    pub load: LoadUnit,
    /// Its bounds, if they are known before it is loaded.
    pub bounds: Option<UnitBounds>,
    /// Statements that create its staging table.
    pub create: Vec<String>,
    /// The COPY that fills it if one stream does.
    pub copy_alone: String,
    /// The COPY that fills it if several streams do. Its table is committed before its rows, so it cannot FREEZE them.
    pub copy_shared: String,
    /// Counts its rows.
    pub measure: String,
    /// The query for its sums, if more than the number of rows is verified.
    pub verify: Option<String>,
    /// Statements that prepare it after it is filled, such as indexes.
    pub ready: Vec<String>,
}

/// Most callers need the part that does not depend on the destination.
impl Deref for UnitPlan {
    type Target = LoadUnit;

    fn deref(&self) -> &LoadUnit {
        &self.load
    }
}

impl DerefMut for UnitPlan {
    fn deref_mut(&mut self) -> &mut LoadUnit {
        &mut self.load
    }
}

impl UnitPlan {
    /// The COPY that fills it.
    pub fn copy(&self) -> &str {
        match self.is_shared {
            true => &self.copy_shared,
            false => &self.copy_alone,
        }
    }

    /// The partition that it becomes.
    pub fn partition_name(&self) -> Option<&str> {
        match &self.publishes_into {
            PublishesInto::Target => None,
            PublishesInto::Partition(name) => Some(name),
        }
    }
}
