//! The numbers of members that lookups add. The open run gives them, and the lookups of all streams keep them.

use std::sync::Arc;

use inrush_destination::OpenRun;

use crate::load_flow::LoadFlow;
use crate::steps::{AskedMembers, MemberKey, MemberNumbers};

/// Lets the lookups of these flows ask the open run for the numbers of members.
pub fn serve(flows: &[Arc<LoadFlow>], open: &dyn OpenRun) {
    let asked = flows.iter().enumerate().flat_map(|(target, flow)| {
        let members = flow.asked_members.iter().enumerate();
        members.map(move |(at, members)| (target, at, members))
    });
    for (target, at, asked) in asked {
        let Some(source) = open.member_numbers() else {
            continue;
        };
        asked.members.give(Arc::new(Numbers {
            source,
            target,
            at,
            places: asked.places.clone(),
        }));
    }
}

/// The numbers of one reference's members.
struct Numbers {
    source: Arc<dyn inrush_destination::MemberNumbers>,
    /// The index of the target. `at` is the index of the reference among those of the target.
    target: usize,
    at: usize,
    places: Vec<usize>,
}

impl MemberNumbers for Numbers {
    fn numbers(&self, keys: &[MemberKey]) -> Result<Vec<i64>, String> {
        let (ordered, at): (Vec<MemberKey>, Vec<usize>) =
            AskedMembers::in_order(&self.places, keys)
                .into_iter()
                .unzip();
        let numbers = self.source.numbers(self.target, self.at, &ordered);
        let numbers = numbers.map_err(|error| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })?;
        let mut found = vec![0; keys.len()];
        for (at, number) in at.into_iter().zip(numbers) {
            found[at] = number;
        }
        Ok(found)
    }
}
