//! The part of a flow's plan that does not depend on the destination.

use std::ops::DerefMut;
use std::sync::Arc;

use inrush_source::{Input, Split};

use super::Reading;
use super::load_flow::LoadFlow;
use super::load_unit::LoadUnit;

/// A unit, by the indexes of its flow and of itself.
pub type UnitPlace = (usize, usize);

/// A split, by the indexes of its flow, of its unit, and of itself.
pub type SplitPlace = (usize, usize, usize);

/// A flow of a plan with its load units.
pub trait PlannedFlow: DerefMut<Target = LoadFlow> {
    /// Its load units, in the order of their numbers.
    fn units(&self) -> impl ExactSizeIterator<Item = &LoadUnit>;

    /// The load unit with this index.
    fn unit(&self, at: usize) -> &LoadUnit;

    /// Its load units, mutable, and its reading.
    fn units_mut(&mut self) -> (&Reading, impl ExactSizeIterator<Item = &mut LoadUnit>);

    /// The splits of all units, mutable, and its reading.
    fn splits_mut(&mut self) -> (&Reading, impl Iterator<Item = &mut Split>) {
        let (reading, units) = self.units_mut();
        (reading, units.flat_map(|unit| &mut unit.splits))
    }

    /// Its files, each once, in the order of the flow.
    fn files(&self) -> Vec<&Arc<dyn Input>> {
        let mut files: Vec<&Arc<dyn Input>> = self.all_splits().map(|split| &split.input).collect();
        files.sort_by_key(|file| file.index());
        files.dedup_by(|file, before| Arc::ptr_eq(file, before));
        files
    }

    /// The splits of all units.
    fn all_splits(&self) -> impl Iterator<Item = &Split> {
        self.units().flat_map(|unit| &unit.splits)
    }

    /// Bytes of its files as they are stored.
    fn stored_bytes(&self) -> u64 {
        self.all_splits().map(|split| split.size_bytes).sum()
    }

    /// True if a pipe is among its files.
    fn has_pipes(&self) -> bool {
        self.all_splits().any(|split| split.input.is_read_once())
    }
}
