//! The order in which rows were loaded into a staging table.

use crate::plan::{FlowPlan, Publish};
use crate::row_numbers;

/// How the order of rows in a staging table is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Rows are ordered by their positions (`ctid`).
    Places,
    /// Rows are ordered by a column of numbers.
    Numbers,
}

impl Order {
    /// The order in the staging tables of a flow.
    pub fn of(flow: &FlowPlan) -> Order {
        match flow.publish {
            Publish::Route(_) => Order::Numbers,
            _ => Order::Places,
        }
    }

    /// The SQL condition for these rows.
    pub fn any_of(self, places: &[String]) -> String {
        let places: Vec<String> = places.iter().map(|place| format!("\"{place}\"")).collect();
        let elements = places.join(",");
        match self {
            Order::Places => format!("ctid = ANY ('{{{elements}}}'::tid[])"),
            Order::Numbers => format!("{} = ANY ('{{{elements}}}'::int8[])", row_numbers::column()),
        }
    }

    /// The SQL condition for a range of rows.
    pub fn between(self, first: &str, last: &str) -> String {
        match self {
            Order::Places => format!("ctid >= '{first}'::tid AND ctid <= '{last}'::tid"),
            Order::Numbers => {
                let number = row_numbers::column();
                format!("{number} BETWEEN {first} AND {last} ORDER BY {number}")
            }
        }
    }

    /// The number of rows that were loaded before this one, over the whole unit. `passed` is the number of rows before
    /// it in its table.
    pub fn rows_before(self, place: &str, passed: u64) -> u64 {
        match self {
            Order::Places => passed,
            // Rows that became partitions have numbers, too.
            Order::Numbers => {
                let number: u64 = place.parse().expect("the server writes an int8");
                number - 1
            }
        }
    }
}
