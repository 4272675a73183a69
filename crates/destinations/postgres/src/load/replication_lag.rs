//! The watch over standbys and replication slots: streams wait while one of them is too far behind.

use inrush_destination::{LoadWatch, Result, Watched};
use inrush_rows::quantity::bytes;

use super::prepared::PostgresRun;
use crate::{Session, server_facts};

/// Watches the replicas, over a separate connection.
pub struct Replicas<'a> {
    run: &'a PostgresRun,
    session: Session,
    is_paused: bool,
}

impl<'a> Replicas<'a> {
    /// Connects, if the package asks for a watch.
    pub fn watch(run: &'a PostgresRun) -> Result<Option<Replicas<'a>>> {
        let settings = &run.plan.settings;
        if settings.replica_lag_bytes_max.is_none() && settings.slot_bytes_max.is_none() {
            return Ok(None);
        }
        let name = format!("inrush {} replicas", run.record.name);
        Ok(Some(Replicas {
            run,
            session: run.ask(Session::open(&run.address, &name))?,
            is_paused: false,
        }))
    }
}

impl LoadWatch for Replicas<'_> {
    fn look(&mut self) -> Result<Watched> {
        let settings = &self.run.plan.settings;
        let behind = self.run.ask(server_facts::furthest_behind(
            &self.session,
            settings.replica_lag_bytes_max,
            settings.slot_bytes_max,
        ))?;
        let was_paused = self.is_paused;
        self.is_paused = behind.is_some();
        let note = || match behind {
            Some(behind) => format!(
                "paused: {} is {} behind; the limit is {}",
                behind.who,
                bytes(behind.bytes),
                bytes(behind.bytes_max)
            ),
            None => "resumed: no standby or slot is too far behind".to_owned(),
        };
        Ok(Watched {
            is_paused: self.is_paused,
            note: (self.is_paused != was_paused).then(note),
        })
    }
}

impl Drop for Replicas<'_> {
    fn drop(&mut self) {
        self.session.abandon();
    }
}
