//! Findings of a preflight: what a source, a destination or the engine reports to the user before a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The weight of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The run cannot succeed.
    Stops,
    /// The run takes longer than necessary, or takes resources from others.
    Hurts,
    /// Good to know.
    Tells,
}

/// A problem or a note that the user should know before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The weight of the finding.
    pub weight: Weight,
    /// The problem or the note.
    pub what: String,
    /// How to fix the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// A finding that stops the run.
    pub fn stops(what: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            weight: Weight::Stops,
            what: what.into(),
            hint: Some(hint.into()),
        }
    }

    /// A finding that slows down the run or disturbs others.
    pub fn hurts(what: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            weight: Weight::Hurts,
            what: what.into(),
            hint: Some(hint.into()),
        }
    }

    /// A note.
    pub fn tells(what: impl Into<String>) -> Finding {
        Finding {
            weight: Weight::Tells,
            what: what.into(),
            hint: None,
        }
    }
}
