//! Measures the server: the network to it, how fast it takes rows, and its WAL.

use std::time::Duration;

use inrush_engine::error::Error;
use inrush_engine::planner::preflight::{STEP_TIME, Trials};
use inrush_engine::preflight::PreflightStep;

use super::hazards::WalSettings;
use super::measure::Preflight;
use super::network::{self, Network};
use super::trial::Ground;
use super::trial_server::TrialServer;
use super::wal::{self, Wal};
use crate::PostgresError;

/// The longest time for writing to the server's WAL.
const WAL_PATIENCE: Duration = Duration::from_millis(1500);

/// The measurements of the server. The measurements of each flow are kept with the flow.
#[derive(Default)]
pub struct ServerFound {
    /// Seconds of a round trip.
    pub round_trip_s: f64,
    /// The rates of the network.
    pub network: Option<Network>,
    /// The speed of its WAL.
    pub wal: Option<Wal>,
    /// The settings of its WAL.
    pub settings: WalSettings,
}

impl ServerFound {
    /// Measures the server, and for each flow the speed at which the server takes its rows.
    pub fn measure(
        preflight: &Preflight<'_>,
        trials: &mut Trials<'_>,
    ) -> Result<ServerFound, Error> {
        let Preflight {
            runtime,
            session,
            plan,
            ..
        } = *preflight;
        let asking = async {
            Ok::<_, PostgresError>(ServerFound {
                round_trip_s: network::round_trip(session).await?,
                settings: WalSettings::ask(session).await?,
                ..ServerFound::default()
            })
        };
        let mut found = runtime.block_on(asking)?;
        let schema = &plan.settings.staging_schema;
        let Some(ground) = runtime.block_on(Ground::find(session, schema))? else {
            let steps = [
                PreflightStep::Network,
                PreflightStep::Destination,
                PreflightStep::Log,
                PreflightStep::Together,
            ];
            let why = "the role may not create tables, not even temporary ones";
            trials.found.not_measured(&steps, why);
            return Ok(found);
        };
        let place = TrialServer {
            runtime,
            address: preflight.address,
            session,
            plan,
            ground: &ground,
            stop: &preflight.options.stop,
            network_time: STEP_TIME / 2,
        };
        let network = network::measure(&place, plan.streams);
        let network = network.map_err(Error::from);
        found.network = trials.found.told(PreflightStep::Network, network)?;
        trials.measure(&place)?;
        let wal = wal::measure(&place, plan.streams, WAL_PATIENCE);
        let wal = wal.map_err(Error::from);
        found.wal = trials.found.told(PreflightStep::Log, wal)?;
        Ok(found)
    }
}
