//! Drops the indexes of a plain target before rows are copied into it, and builds them again afterwards, which is much
//! faster if there are many rows and indexes. All of it is done in the switch's own transaction, so that nobody sees
//! the table without its indexes.

use inrush_package::IndexPolicy;

use super::{FlowPlan, Publish};
use crate::catalog::IndexFacts;
use crate::quote::qualified;
use crate::staging;

/// The indexes that are dropped and built again. Unique indexes stay, because they show which row is at fault.
fn rebuilt(flow: &FlowPlan) -> impl Iterator<Item = &IndexFacts> {
    let applies = flow.indexes == IndexPolicy::Rebuild && flow.publish == Publish::Insert;
    flow.facts
        .iter()
        .filter(move |_| applies)
        .flat_map(|facts| &facts.indexes)
        .filter(|index| !index.unique && index.constraint.is_none())
}

/// The statements before rows are copied.
pub fn before_rows(flow: &FlowPlan) -> Vec<String> {
    rebuilt(flow)
        .map(|index| format!("DROP INDEX {}", qualified(&flow.schema, &index.name)))
        .collect()
}

/// The statements after rows are copied.
pub fn after_rows(flow: &FlowPlan) -> Vec<String> {
    rebuilt(flow)
        .flat_map(|index| staging::build_index(&flow.target(), Some(&index.name), index))
        .collect()
}

/// The note about it for the user.
pub fn note(flow: &FlowPlan) -> Option<String> {
    let names: Vec<&str> = rebuilt(flow).map(|index| index.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the switch drops its indexes {} and builds them again; the table cannot be read \
             meanwhile",
            flow.target(),
            names.join(", ")
        )
    })
}
