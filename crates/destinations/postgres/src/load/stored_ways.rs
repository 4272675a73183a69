//! How the server stored the rows of each unit, for the report.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::engine::plan::UnitPlace;
use crate::engine::report::ServerCopyReport;
use crate::fast_copy::Way;
use crate::plan::FlowCopy;

/// The extension's answers about the tables of units.
#[derive(Default)]
pub struct StoredWays(Mutex<BTreeMap<UnitPlace, Result<Way, String>>>);

impl StoredWays {
    /// Records how a unit is stored, or why the extension refused its table. Returns true for the first such refusal of
    /// the unit's flow.
    pub fn note(&self, place: UnitPlace, way: &Result<Way, String>) -> bool {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_flow =
            |(other, way): (&UnitPlace, &Result<Way, String>)| other.0 == place.0 && way.is_err();
        let is_first = way.is_err() && !ways.iter().any(is_of_flow);
        ways.insert(place, way.clone());
        is_first
    }

    /// Records that a unit, or a split of it, is loaded again by COPY because the server refused a row.
    pub fn loaded_again(&self, place: UnitPlace) {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(way) = ways.get_mut(&place) {
            *way = Err("it was loaded again because the server refused a row".to_owned());
        }
    }

    /// The report's entry about a unit; `None` if the database has no extension, or this attempt did not load the unit.
    pub fn report(&self, place: UnitPlace, copy: &FlowCopy) -> Option<ServerCopyReport> {
        let by_copy = |reason: &str, fix: Option<String>| ServerCopyReport {
            way: "copy".to_owned(),
            reason: Some(reason.to_owned()),
            fix,
        };
        if let FlowCopy::Plain { reason, fix } = copy {
            let fix = fix.clone()?;
            return Some(by_copy(reason, Some(fix)));
        }
        let ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match ways.get(&place)? {
            Ok(way) => ServerCopyReport {
                way: way.name().to_owned(),
                reason: None,
                fix: None,
            },
            Err(reason) => by_copy(reason, None),
        })
    }
}
