//! Logins by a Kerberos ticket: the tokens that prove the user to the server, and the server to the user.
//!
//! The tokens are made by the system's GSSAPI library (`library.rs`), which is loaded when the first login needs it:
//! the build needs no headers of it, and a machine without it lacks only this way to log in. The library also finds the
//! ticket (KRB5CCNAME, or a keytab in KRB5_CLIENT_KTNAME) and the realm's servers (KRB5_CONFIG).

mod library;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::address::Endpoint;
use crate::interrupt::Interrupt;

pub(crate) use library::Context;

/// The time between two looks at the interrupt.
const TICK: Duration = Duration::from_millis(100);

/// One side of a negotiation.
pub(crate) trait Negotiation: Send + Sized + 'static {
    /// The next token. `received` is the last token of the other side; at the first step it is empty.
    fn step(&mut self, received: &[u8]) -> Result<Step, NegotiationFault>;
}

/// The result of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// The bytes to send; empty if there are none.
    pub(crate) token: Vec<u8>,
    /// Both sides have proven who they are.
    pub(crate) is_complete: bool,
}

/// The reason why there is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NegotiationFault {
    /// The library refuses.
    Refused {
        /// What is wrong.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The servers of the realm did not answer within the time limit of the login.
    TooLate,
    /// The run was interrupted.
    Interrupted,
}

/// The name by which the realm knows the server, if the options do not give one. Names are not looked up in the DNS:
/// otherwise an attacker who controls the DNS could choose the server.
pub(crate) fn service_name(endpoint: &Endpoint) -> String {
    format!("MSSQLSvc/{}:{}", endpoint.host, endpoint.port)
}

/// Makes a step on a thread of its own, because the library waits for the realm's servers as long as its own settings
/// say. If the login times out first, that thread ends later by itself.
pub(crate) fn step_within<N: Negotiation>(
    mut negotiation: N,
    received: Vec<u8>,
    until: Instant,
    interrupt: &Interrupt,
) -> Result<(N, Step), NegotiationFault> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let step = negotiation.step(&received);
        // If the step took too long, nobody waits for its result any more.
        let _ = sender.send(step.map(|step| (negotiation, step)));
    });
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(step) => return step,
            Err(RecvTimeoutError::Timeout) if interrupt.is_raised() => {
                return Err(NegotiationFault::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(_) => return Err(NegotiationFault::TooLate),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    /// Its step ends when its sender is dropped.
    struct Slow(Receiver<()>);

    impl Negotiation for Slow {
        fn step(&mut self, _received: &[u8]) -> Result<Step, NegotiationFault> {
            let _ = self.0.recv();
            Ok(Step::default())
        }
    }

    #[test]
    fn a_step_ends_with_the_time_of_the_login() {
        let (_held, receiver) = channel();
        let step = step_within(
            Slow(receiver),
            Vec::new(),
            Instant::now(),
            &Interrupt::default(),
        );
        assert_eq!(step.err(), Some(NegotiationFault::TooLate));
    }

    #[test]
    fn a_step_ends_with_an_interrupt() {
        let (_held, receiver) = channel();
        let interrupt = Interrupt::default();
        interrupt.raise();
        let later = Instant::now() + Duration::from_secs(600);
        let step = step_within(Slow(receiver), Vec::new(), later, &interrupt);
        assert_eq!(step.err(), Some(NegotiationFault::Interrupted));
    }

    #[test]
    fn the_name_of_a_server_has_its_port() {
        let endpoint = Endpoint {
            host: "dw.example.com".to_owned(),
            port: 1433,
        };
        assert_eq!(service_name(&endpoint), "MSSQLSvc/dw.example.com:1433");
    }
}
