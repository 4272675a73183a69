//! Pauses the streams while a standby or a replication slot lags behind too far.

use std::time::Duration;

use inrush_engine::error::Error;
use inrush_engine::event::{Event, Observer};
use inrush_engine::native::run::Watch;
use inrush_rows::cancel::StopReason;
use inrush_rows::quantity::bytes;
use tokio::sync::Notify;

use super::context::Context;
use crate::{Session, server_facts};

/// The time between two checks. What the streams send meanwhile may exceed the limit.
const PAUSE: Duration = Duration::from_millis(250);

/// Watches the replicas, over a separate connection.
pub struct Replicas<'a> {
    context: Context<'a>,
    session: Session,
    paused: bool,
    told: bool,
}

impl<'a> Replicas<'a> {
    /// Begins to watch, if the package asks for it.
    pub async fn watch(context: Context<'a>) -> Result<Option<Replicas<'a>>, Error> {
        let settings = &context.run.plan.settings;
        if settings.replica_lag_bytes_max.is_none() && settings.slot_bytes_max.is_none() {
            return Ok(None);
        }
        let name = format!("inrush {} replicas", context.run.record.name);
        let mut replicas = Replicas {
            context,
            session: Session::open(context.address, &name).await?,
            paused: false,
            told: false,
        };
        replicas.look().await?;
        Ok(Some(replicas))
    }

    /// If the server cannot be asked any more, the run stops, because its user does not want it to continue unwatched.
    async fn until_loaded(&mut self, loaded: &Notify) -> Result<(), Error> {
        let context = self.context;
        loop {
            tokio::select! {
                biased;
                () = loaded.notified() => break,
                _ = context.stop.wait() => break,
                () = tokio::time::sleep(PAUSE) => {}
            }
            let looked = tokio::select! {
                biased;
                looked = self.look() => looked,
                _ = context.stop.wait() => break,
            };
            if let Err(error) = looked {
                context.stop.ask(StopReason::Failed);
                return Err(error);
            }
        }
        context.run.pace.pause(false);
        self.session.abandon();
        Ok(())
    }

    async fn look(&mut self) -> Result<(), Error> {
        let context = self.context;
        let settings = &context.run.plan.settings;
        let behind = server_facts::furthest_behind(
            &self.session,
            settings.replica_lag_bytes_max,
            settings.slot_bytes_max,
        )
        .await?;
        context.run.pace.pause(behind.is_some());
        if self.paused == behind.is_some() {
            return Ok(());
        }
        self.paused = behind.is_some();
        let text = match behind {
            Some(behind) => format!(
                "paused: {} is {} behind; the limit is {}",
                behind.who,
                bytes(behind.bytes),
                bytes(behind.bytes_max)
            ),
            None => "resumed: no standby or slot is too far behind".to_owned(),
        };
        let note = Event::Note { text };
        // A load that keeps its standbys near the limit pauses often; the log has each pause.
        context.run.folder.notice(&note);
        if !self.told {
            self.told = true;
            context.observer.notice(&note);
        }
        Ok(())
    }
}

impl Watch for Replicas<'_> {
    fn go_on(mut self: Box<Self>, loaded: &Notify) -> Result<(), Error> {
        let runtime = self.context.runtime;
        runtime.block_on(self.until_loaded(loaded))
    }
}
