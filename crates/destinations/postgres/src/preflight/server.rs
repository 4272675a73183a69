//! Measures the server: the network to it, how fast it takes encoded rows, all steps together, and its WAL.

use std::time::Duration;

use inrush_engine::native::preflight::flow_found::FlowFound;
use inrush_engine::native::preflight::{MeasuringTime, STEP_TIME, findings};
use inrush_engine::preflight::{Finding, PreflightStep, Weight};
use inrush_pgclient::ClientError;

use super::at_once::TrialServer;
use super::destination;
use super::hazards::WalSettings;
use super::measure::Preflight;
use super::network::{self, Network};
use super::together::{self, TrialWork};
use super::trial::Ground;
use super::wal::{self, Wal};
use crate::Session;
use crate::load_error::LoadError;
use crate::plan::{FlowPlan, Publish};

/// The longest time for writing to the server's WAL.
const WAL_PATIENCE: Duration = Duration::from_millis(1500);

/// The measurements of the server. The measurements of each flow are kept with the flow.
#[derive(Default)]
pub struct ServerFound {
    /// Seconds of a round trip.
    pub round_trip_s: f64,
    /// The round trip and the rate of the network.
    pub network: Option<Network>,
    /// The speed of its WAL.
    pub wal: Option<Wal>,
    /// The settings of its WAL.
    pub settings: WalSettings,
    /// The steps that were not measured, and the reasons.
    pub why_not: Vec<(PreflightStep, String)>,
    /// Findings: for each flow a row of the sample that the server refuses, and trial tables that differ from those of
    /// the run.
    pub findings: Vec<Finding>,
}

impl ServerFound {
    /// Measures the server, and for each flow the speed at which the server takes its rows.
    pub fn measure(
        preflight: &Preflight<'_>,
        flows: &mut [FlowFound],
        measuring_time: MeasuringTime,
    ) -> Result<ServerFound, LoadError> {
        let Preflight {
            runtime,
            session,
            plan,
            ..
        } = *preflight;
        let mut found = ServerFound {
            round_trip_s: runtime.block_on(network::round_trip(session))?,
            settings: runtime.block_on(WalSettings::ask(session))?,
            ..ServerFound::default()
        };
        let schema = &plan.settings.staging_schema;
        let Some(ground) = runtime.block_on(Ground::find(session, schema))? else {
            let why = "the role may not create tables, not even temporary ones";
            for step in [
                PreflightStep::Network,
                PreflightStep::Destination,
                PreflightStep::Log,
                PreflightStep::Together,
            ] {
                found.why_not.push((step, why.to_owned()));
            }
            return Ok(found);
        };
        let at = TrialServer {
            runtime,
            address: preflight.address,
            plan,
            ground: &ground,
            stop: &preflight.options.stop,
            measuring_time: measuring_time.step,
        };
        found.network(&at)?;
        for flow in flows.iter_mut() {
            found.rows_alone(&at, flow)?;
        }
        let at_last = TrialServer {
            measuring_time: measuring_time.together,
            ..at
        };
        for flow in flows.iter_mut() {
            found.all_together(&at_last, session, flow)?;
        }
        let wal = wal::measure(&at, plan.streams, WAL_PATIENCE);
        found.wal = found.told(wal, PreflightStep::Log, None)?;
        if ground == Ground::Temporary {
            found.findings.push(Finding::tells(
                "the role may create only temporary tables: the destination's speed was measured \
                 with those, which write no WAL",
            ));
        }
        Ok(found)
    }

    fn network(&mut self, at: &TrialServer<'_>) -> Result<(), LoadError> {
        let at = TrialServer {
            measuring_time: STEP_TIME / 2,
            ..*at
        };
        let network = network::measure(&at, at.plan.streams);
        self.network = self.told(network, PreflightStep::Network, None)?;
        Ok(())
    }

    /// Measures the speed at which the server takes a flow's rows, by one connection and by all.
    fn rows_alone(&mut self, at: &TrialServer<'_>, flow: &mut FlowFound) -> Result<(), LoadError> {
        let (planned, streams) = (&at.plan.flows[flow.index], at.plan.streams);
        let Some(decoded) = &flow.decoded else {
            return Ok(());
        };
        if decoded.encoded.blocks.is_empty() {
            return Ok(());
        }
        let taken = |streams| destination::measure(at, flow.index, &decoded.encoded, streams);
        let one = self.told(taken(1), PreflightStep::Destination, Some(planned))?;
        let all = match (&one, streams) {
            (Some(_), 2..) => {
                self.told(taken(streams), PreflightStep::Destination, Some(planned))?
            }
            _ => one,
        };
        (flow.destination, flow.destination_all) = (one, all);
        Ok(())
    }

    /// Measures all steps together, by one stream and by all.
    fn all_together(
        &mut self,
        at: &TrialServer<'_>,
        session: &Session,
        flow: &mut FlowFound,
    ) -> Result<(), LoadError> {
        let (planned, streams) = (&at.plan.flows[flow.index], at.plan.streams);
        let works = works(planned, flow);
        if works.is_empty() {
            return Ok(());
        }
        let copies = matches!(&planned.publish, Publish::Insert | Publish::Upsert { .. })
            || matches!(&planned.publish, Publish::Route(route) if !route.is_new);
        let one = match streams {
            1 => None,
            // Half of the time: this measures one stream alone.
            _ => {
                let at = TrialServer {
                    measuring_time: at.measuring_time / 2,
                    ..*at
                };
                let tried = together::measure(&at, flow, &works[..1], 1, false);
                self.told(tried, PreflightStep::Together, Some(planned))?
            }
        };
        let before = at.runtime.block_on(wal::place(session));
        let tried = together::measure(at, flow, &works, streams, copies);
        let mut all = self.told(tried, PreflightStep::Together, Some(planned))?;
        let after = at.runtime.block_on(wal::place(session));
        if let (Some(all), Some(before), Some(after)) = (&mut all, before, after) {
            all.wal_bytes = Some((after - before).unsigned_abs());
        }
        (flow.together, flow.together_all) = (one.or(all.clone()), all);
        Ok(())
    }

    /// Reports a step that could not be measured; a trial that the server refuses does not fail the preflight.
    fn told<T>(
        &mut self,
        result: Result<T, LoadError>,
        step: PreflightStep,
        flow: Option<&FlowPlan>,
    ) -> Result<Option<T>, LoadError> {
        let error = match result {
            Ok(found) => return Ok(Some(found)),
            Err(LoadError::Server(error)) => error,
            Err(error) => return Err(error),
        };
        if !matches!(
            error.client(),
            Some(ClientError::Refused { .. } | ClientError::Connect { .. })
        ) {
            return Err(error.into());
        }
        if let (Some(flow), Some(ClientError::Refused { message, .. }), Some(_)) =
            (flow, error.client(), error.row_refusal())
        {
            self.row_refused(flow, message);
        }
        self.why_not.push((step, findings::words(&error)));
        Ok(None)
    }

    fn row_refused(&mut self, flow: &FlowPlan, message: &str) {
        let begin = format!(
            "flow `{}`: the server refuses a row of the sample",
            flow.name
        );
        let mut known = self.findings.iter();
        if known.any(|known| known.what.starts_with(&begin)) {
            return;
        }
        self.findings.push(Finding {
            weight: match flow.reject_limit.rows_accepted() {
                0 => Weight::Stops,
                _ => Weight::Hurts,
            },
            what: format!("{begin}: {message}"),
            hint: Some(format!(
                "{}, or accept rejects (`rejects`): then the unit is loaded again, row by row where needed",
                flow.input_kind().fix_rows()
            )),
        });
    }
}

/// The pieces of work that are tried: those with sample rows.
fn works(flow: &FlowPlan, found: &FlowFound) -> Vec<TrialWork> {
    let works = found.works.iter().map(|(unit, portions)| TrialWork {
        unit: *unit,
        portions: portions.clone(),
        fed: flow.units[*unit]
            .splits
            .iter()
            .find(|split| split.is_shared)
            .cloned(),
    });
    works
        .filter(|work| work.fed.is_some() || !work.portions.is_empty())
        .collect()
}
