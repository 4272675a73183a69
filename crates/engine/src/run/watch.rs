//! The watch beside the streams: pauses them while they are too far ahead of something, for example of a standby.

use std::time::Duration;

use inrush_destination::{LoadWatch, Watched};
use inrush_rows::cancel::StopReason;
use tokio::sync::Notify;

use super::context::RunContext;
use crate::error::Error;
use crate::event::{Event, Observer};

/// The time between two looks. The rows that the streams send between them may exceed the limit.
const PAUSE: Duration = Duration::from_millis(250);

/// A watch, with the streams that it pauses.
pub struct Watching<'a> {
    context: RunContext<'a>,
    watch: Box<dyn LoadWatch + 'a>,
    /// The user has a note already.
    is_told: bool,
}

impl<'a> Watching<'a> {
    /// Begins to watch, if the package asks for it, with a first look.
    pub fn begin(context: RunContext<'a>) -> Result<Option<Watching<'a>>, Error> {
        let Some(watch) = context.run.open.watch()? else {
            return Ok(None);
        };
        let mut watching = Watching {
            context,
            watch,
            is_told: false,
        };
        watching.look()?;
        Ok(Some(watching))
    }

    /// Watches until everything is loaded, or the run is asked to stop. If it fails, the run stops.
    pub fn until_loaded(mut self, loaded: &Notify) -> Result<(), Error> {
        let RunContext { runtime, stop, .. } = self.context;
        let is_over = || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = loaded.notified() => true,
                    _ = stop.wait() => true,
                    () = tokio::time::sleep(PAUSE) => false,
                }
            })
        };
        while !is_over() {
            match self.look() {
                Ok(()) => {}
                Err(Error::Interrupted) => break,
                Err(error) => {
                    stop.ask(StopReason::Failed);
                    return Err(error);
                }
            }
        }
        self.context.pace.pause(false);
        Ok(())
    }

    fn look(&mut self) -> Result<(), Error> {
        let Watched { is_paused, note } = self.watch.look()?;
        let RunContext { run, pace, .. } = self.context;
        pace.pause(is_paused);
        if let Some(text) = note {
            let note = Event::Note { text };
            // A load that is near its limit pauses often; the log has each pause.
            run.folder.notice(&note);
            if !self.is_told {
                self.is_told = true;
                self.context.observer.notice(&note);
            }
        }
        Ok(())
    }
}
