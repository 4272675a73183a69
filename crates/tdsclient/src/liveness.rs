//! Detects that a session is gone if nothing reports its end.
//!
//! The system detects a dead server, because it probes the peer of a silent connection (keepalives). But the peer may
//! be a proxy that keeps this connection open without the server, or a server that hangs. Silence alone proves nothing:
//! a statement may work for hours, and a server whose log grows takes no rows meanwhile. But the server knows. So after
//! a connection has been silent for some time, this module asks the server over another connection whether it still has
//! the session.

use std::sync::Arc;

use crate::address::{Endpoint, SessionOptions};
use crate::error::{Result, SessionError};
use crate::interrupt::Interrupt;
use crate::open::{LoggedIn, log_in};
use crate::session::Session;
use crate::session_watch::{WatchError, require_right};

/// After this number of failed checks in a row a session is given up.
const UNANSWERED_MAX: u32 = 10;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// The server has the session.
    Alive,
    /// The server does not have it any more.
    Gone,
    /// A server answers, but it refuses the login, or the login may not see other sessions.
    Untold,
    /// No server answered.
    Unanswered,
}

/// The checks of a session. A check follows each long silence.
pub(crate) struct SilenceChecks {
    options: SessionOptions,
    endpoint: Endpoint,
    number: Option<u16>,
    interrupt: Arc<Interrupt>,
    unanswered: u32,
}

impl SilenceChecks {
    /// Checks whether the server still has this session.
    pub(crate) fn new(
        options: &SessionOptions,
        session: &Session,
        interrupt: &Arc<Interrupt>,
    ) -> SilenceChecks {
        SilenceChecks {
            options: options.clone(),
            endpoint: session.facts().endpoint.clone(),
            number: session.number_on_server(),
            interrupt: Arc::clone(interrupt),
            unanswered: 0,
        }
    }

    /// Bytes were sent or received: the count of checks without an answer starts again.
    pub(crate) fn heard(&mut self) {
        self.unanswered = 0;
    }

    /// Asks the server once. If the session has to be given up, returns the reason.
    pub(crate) fn check(&mut self) -> Option<&'static str> {
        let looked = match self.ask() {
            Ok(looked) => looked,
            // The wait that started this check is ended by the same interrupt.
            Err(SessionError::Interrupted) => Look::Untold,
            Err(error) => look_of(&error),
        };
        judge(looked, &mut self.unanswered)
    }

    fn ask(&self) -> Result<Look> {
        let mut session = match log_in(&self.options, &self.endpoint, &self.interrupt)? {
            LoggedIn::Here(session) => session,
            LoggedIn::Elsewhere(_) => return Ok(Look::Untold),
        };
        let Some(number) = self.number else {
            return Ok(Look::Untold);
        };
        let patience = self.options.login_timeout;
        match require_right(&mut session, patience) {
            Ok(()) => {}
            Err(WatchError::NoRight) => return Ok(Look::Untold),
            Err(WatchError::Session(error)) => return Err(error),
        }
        // The server may give the number to a new session, but hardly to one of this process.
        let question = format!(
            "SELECT session_id FROM sys.dm_exec_sessions WHERE session_id = {number} AND host_process_id = {}",
            std::process::id()
        );
        let rows = session.run_within(&question, patience)?.into_rows();
        Ok(match rows.is_empty() {
            true => Look::Gone,
            false => Look::Alive,
        })
    }
}

/// The result of a check whose query has failed.
fn look_of(error: &SessionError) -> Look {
    match error {
        // All sessions of the server may be in use, or a token may have expired.
        SessionError::Login { .. } | SessionError::Server(_) => Look::Untold,
        _ => Look::Unanswered,
    }
}

/// The reason why a session is given up after a check; `None` if it is not given up.
fn judge(looked: Look, unanswered: &mut u32) -> Option<&'static str> {
    *unanswered = match looked {
        Look::Gone => {
            return Some(
                "the server has ended the session, but a device between here and the server did not report it",
            );
        }
        Look::Alive | Look::Untold => 0,
        Look::Unanswered => *unanswered + 1,
    };
    (*unanswered >= UNANSWERED_MAX)
        .then_some("it is silent, and the server does not answer on other connections either")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_gone_is_given_up_at_once() {
        assert!(judge(Look::Gone, &mut 0).is_some());
    }

    #[test]
    fn one_that_may_live_is_waited_for_without_an_end() {
        let mut unanswered = 0;
        for _ in 0..10 * UNANSWERED_MAX {
            assert_eq!(judge(Look::Alive, &mut unanswered), None);
            assert_eq!(judge(Look::Untold, &mut unanswered), None);
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up_in_the_end() {
        let mut unanswered = 0;
        for _ in 1..UNANSWERED_MAX {
            assert_eq!(judge(Look::Unanswered, &mut unanswered), None);
        }
        // Once a server answers, the count starts again.
        assert_eq!(judge(Look::Untold, &mut unanswered), None);
        for _ in 1..UNANSWERED_MAX {
            assert_eq!(judge(Look::Unanswered, &mut unanswered), None);
        }
        assert!(judge(Look::Unanswered, &mut unanswered).is_some());
    }
}
