//! Asking a run to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked: a signal, or Ctrl-C.
    Interrupted,
    /// Another stream failed, so what the others do is in vain.
    Failed,
}

/// A flag that every stream looks at between blocks, and waits on while it waits for the server.
/// Clones are the same flag.
#[derive(Clone, Debug)]
pub struct Stop {
    sender: Arc<watch::Sender<Option<StopReason>>>,
}

impl Default for Stop {
    fn default() -> Self {
        Stop {
            sender: Arc::new(watch::Sender::new(None)),
        }
    }
}

impl Stop {
    /// Asks to stop. The first reason stays.
    pub fn ask(&self, reason: StopReason) {
        self.sender.send_if_modified(|asked| {
            let first = asked.is_none();
            if first {
                *asked = Some(reason);
            }
            first
        });
    }

    /// Why to stop, if it was asked.
    pub fn asked(&self) -> Option<StopReason> {
        *self.sender.borrow()
    }

    /// Waits until it is asked.
    pub async fn wait(&self) -> StopReason {
        let mut receiver = self.sender.subscribe();
        let asked = receiver
            .wait_for(Option::is_some)
            .await
            .expect("the sender lives as long as self");
        asked.expect("waited for a reason")
    }
}
