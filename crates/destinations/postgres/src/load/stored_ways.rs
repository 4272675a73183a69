//! Streams record here how the server has stored the rows of each unit. The report shows it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use inrush_destination::StoredWay;
use inrush_plan::UnitPlace;

use crate::fast_copy::Way;
use crate::plan::FlowCopy;

/// For each unit that was begun: the extension's method for its table, or the reason why the unit was loaded by COPY.
#[derive(Default)]
pub struct StoredWays(Mutex<BTreeMap<UnitPlace, Result<Way, String>>>);

impl StoredWays {
    /// Records the extension's method for a unit, or why the extension refused its table. Returns true if it is the
    /// first such refusal of the unit's flow.
    pub fn note(&self, place: UnitPlace, way: &Result<Way, String>) -> bool {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_flow =
            |(other, way): (&UnitPlace, &Result<Way, String>)| other.0 == place.0 && way.is_err();
        let is_first = way.is_err() && !ways.iter().any(is_of_flow);
        ways.insert(place, way.clone());
        is_first
    }

    /// The COPY of a unit begins. It is recorded if the flow uses COPY because of missing rights: the report has the
    /// GRANT only for the units that this attempt began.
    pub fn begin(&self, place: UnitPlace, copy: &FlowCopy) {
        if let FlowCopy::Plain {
            reason,
            fix: Some(_),
        } = copy
        {
            let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            ways.insert(place, Err(reason.clone()));
        }
    }

    /// A unit or one of its splits is loaded again, by COPY, because the server refused a row.
    pub fn loaded_again(&self, place: UnitPlace) {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(way) = ways.get_mut(&place) {
            *way = Err("it was loaded again because the server refused a row".to_owned());
        }
    }

    /// The report's entry for a unit; `None` if the database has no extension, or if this attempt did not begin the
    /// unit.
    pub fn of_unit(&self, place: UnitPlace, copy: &FlowCopy) -> Option<StoredWay> {
        let by_copy = |reason: &str, fix: Option<String>| StoredWay {
            way: "copy".to_owned(),
            reason: Some(reason.to_owned()),
            fix,
        };
        let ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = ways.get(&place)?;
        if let FlowCopy::Plain { reason, fix } = copy {
            return Some(by_copy(reason, fix.clone()));
        }
        Some(match told {
            Ok(way) => StoredWay {
                way: way.name().to_owned(),
                reason: None,
                fix: None,
            },
            Err(reason) => by_copy(reason, None),
        })
    }
}
