//! The server as the place of trial loads.

use std::sync::Mutex;

use inrush_destination::{Result, TrialLoad, TrialPlace, TrialScope};
use inrush_pgclient::local_backend::is_backend;
use inrush_rows::cancel::Stop;
use inrush_system::process;
use tokio::runtime::Handle;
use tokio_postgres::config::Host;

use super::trial::Ground;
use super::trial_stream::TrialTables;
use super::wal;
use crate::plan::{Plan, Publish};
use crate::{DatabaseAddress, Session};

/// The server, with the place of its trial tables.
#[derive(Clone, Copy)]
pub struct TrialServer<'a> {
    /// The runtime of the connections.
    pub runtime: &'a Handle,
    /// The address of the server.
    pub address: &'a DatabaseAddress,
    /// A session with the server.
    pub session: &'a Session,
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The place in which trial tables are created.
    pub ground: &'a Ground,
    /// Asks to stop.
    pub stop: &'a Stop,
}

impl TrialServer<'_> {
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

impl TrialPlace for TrialServer<'_> {
    fn note(&self) -> Option<String> {
        let note = "the role may create only temporary tables: the destination's speed was measured \
                    with those, which write no WAL";
        (*self.ground == Ground::Temporary).then(|| note.to_owned())
    }

    fn begin(&self, target: usize, scope: TrialScope) -> Result<Box<dyn TrialLoad + '_>> {
        let publish = &self.plan.flows[target].publish;
        let copies = matches!(publish, Publish::Insert | Publish::Upsert { .. })
            || matches!(publish, Publish::Route(route) if !route.is_new);
        Ok(Box::new(TrialTables {
            server: *self,
            flow: target,
            is_of_units: scope != TrialScope::Rows,
            copies: copies && scope == TrialScope::UnitsAndPublish,
            copy_s: Mutex::default(),
            refused_row: Mutex::default(),
        }))
    }

    fn log_position(&self) -> Option<i64> {
        self.runtime.block_on(wal::place(self.session))
    }
}
