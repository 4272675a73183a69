//! Lineage says where the values of loaded columns come from: from which columns of the source, and through which expressions.
//!
//! [`RunLineage`] is the lineage of one run. The ledger keeps it as text beside the run. `inrush lineage` reads it for
//! each run of a table ([`traced`]), and the events of OpenLineage are made from it.

mod of_flow;
mod record;
mod trace;

use std::ops::Deref;

use inrush_package::Package;

use crate::load_flow::LoadFlow;

pub use record::{
    AddedColumn, ColumnOrigin, FlowLineage, LoadedColumn, ReadColumn, ReferenceColumn, RowSource,
    RunLineage, StepLineage,
};
pub use trace::{Traced, TracedFrom, traced, traced_before};

/// The version of the text that the ledger keeps. A change of meaning raises it.
pub const LINEAGE_VERSION: u32 = 1;

/// The lineage of flows. `package` is the package that was planned.
pub fn of_flows<F: Deref<Target = LoadFlow>>(flows: &[F], package: &Package) -> RunLineage {
    let readings = flows.iter().map(|flow| &flow.reading);
    RunLineage {
        version: LINEAGE_VERSION,
        inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
        flows: readings
            .map(|reading| {
                let mut flows = package.flows.iter();
                let flow = flows.find(|flow| flow.shown_name() == reading.name);
                of_flow::of(reading, flow, package)
            })
            .collect(),
    }
}
