//! Measures a step on several connections at once, each with its own thread, like the streams of a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_engine::native::preflight::on_a_thread_each;
use inrush_pgclient::local_backend::is_backend;
use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_system::process;
use tokio::runtime::Runtime;
use tokio_postgres::config::Host;

use super::trial::{Ground, Trial};
use crate::load_error::LoadError;
use crate::plan::Plan;
use crate::{DatabaseAddress, PostgresError, Session};

/// The server, and the settings of its measurement.
#[derive(Clone, Copy)]
pub struct TrialServer<'a> {
    /// The runtime of the connections.
    pub runtime: &'a Runtime,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The place in which trial tables are created.
    pub ground: &'a Ground,
    /// Asks to stop.
    pub stop: &'a Stop,
    /// Seconds for each measurement.
    pub measuring_time: Duration,
}

/// Open connections, each with its table.
pub struct Opened {
    /// The session and the trial of each stream.
    pub streams: Vec<(Session, Trial)>,
    /// Mean seconds of opening a connection.
    pub connect_s: f64,
    /// Mean seconds of creating a table.
    pub create_s: f64,
}

impl TrialServer<'_> {
    /// Opens this number of connections, and creates a table for each, like that of the unit that `choose` returns.
    pub fn open(
        &self,
        streams: usize,
        flow: usize,
        choose: &dyn Fn(usize) -> usize,
    ) -> Result<Opened, PostgresError> {
        let pace = Arc::new(Pace::new(self.plan.settings.rate_bytes_max));
        self.runtime.block_on(async {
            let mut opened = Opened {
                streams: Vec::new(),
                connect_s: 0.0,
                create_s: 0.0,
            };
            for number in 0..streams {
                let trial = Trial::new(self.plan, flow, choose(number), self.ground, number);
                let begun = Instant::now();
                let mut session = Session::open(self.address, "inrush preflight").await?;
                session.pace = Arc::clone(&pace);
                opened.connect_s += begun.elapsed().as_secs_f64() / streams as f64;
                let begun = Instant::now();
                trial.begin(&session).await?;
                opened.create_s += begun.elapsed().as_secs_f64() / streams as f64;
                opened.streams.push((session, trial));
            }
            Ok(opened)
        })
    }

    /// Runs `work` on all connections at once, and rolls each back.
    pub fn run<T: Send>(
        &self,
        opened: Opened,
        work: &(impl Fn(usize, &Session, &Trial) -> Result<T, LoadError> + Sync),
    ) -> Result<Vec<T>, LoadError> {
        let streams = opened.streams.iter().enumerate();
        let results = on_a_thread_each(streams, &|(number, (session, trial))| {
            work(number, session, trial)
        });
        self.runtime.block_on(async {
            for (session, trial) in opened.streams {
                // A broken connection has rolled back already.
                let _ = trial.roll_back(&session).await;
                session.close().await;
            }
        });
        results?.into_iter().collect()
    }

    /// True if its processes can be observed: it is reached by a socket of this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.address.place().host, Host::Unix(_))
    }

    /// CPU seconds that a session's backend has taken; `None` if it cannot be seen.
    pub fn backend_cpu_s(&self, session: &Session) -> Option<f64> {
        let database = self.address.config.get_dbname().unwrap_or_default();
        let process_id = session.backend_process_id;
        let is_seen = self.is_local() && is_backend(process_id, database);
        let (ran_us, _) = is_seen.then(|| process::cpu_us(process_id)).flatten()?;
        Some(ran_us as f64 / 1e6)
    }
}
