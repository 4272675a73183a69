//! Finds out whether a publish took place, if the connection to the destination was lost before its answer came.

use std::time::Duration;

use inrush_rows::cancel::{Stop, StopReason};

/// The number of attempts: a server that restarts after a crash gets half a minute.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// Asks the ledger until it answers: the server may not be up yet, may go away again, or something may block the run's record.
/// Ends with the last error after half a minute, or if the run is interrupted meanwhile. Until then nothing is reported.
pub async fn settle<E>(
    stop: &Stop,
    mut is_switched: impl AsyncFnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    let mut tries = 1;
    loop {
        let asked = is_switched().await;
        let is_over = tries == TRIES || stop.asked() == Some(StopReason::Interrupted);
        if asked.is_ok() || is_over {
            return asked;
        }
        tries += 1;
        tokio::time::sleep(PAUSE).await;
    }
}
