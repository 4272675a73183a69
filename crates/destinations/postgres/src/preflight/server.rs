//! The server before the measurements.

use super::hazards::WalSettings;
use super::network;
use super::trial::Ground;
use crate::plan::Plan;
use crate::{PostgresError, Session};

/// Facts about the server that the measurements need.
pub struct TrialFacts {
    /// Seconds of a round trip.
    pub round_trip_s: f64,
    /// The settings of its WAL.
    pub wal: WalSettings,
    /// The place in which trial tables are created; `None` if the role may not create any table.
    pub ground: Option<Ground>,
}

impl TrialFacts {
    /// Asks the server, and measures a round trip.
    pub async fn ask(session: &Session, plan: &Plan) -> Result<TrialFacts, PostgresError> {
        Ok(TrialFacts {
            round_trip_s: network::round_trip(session).await?,
            wal: WalSettings::ask(session).await?,
            ground: Ground::find(session, &plan.settings.staging_schema).await?,
        })
    }
}
