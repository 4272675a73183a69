//! Faults for tests: `kill -9` at a named step of a run, and damage to rows in transit, which the account or the
//! verification must find.
//!
//! The promise "exactly once after any kill" can only be tested by killing the process at critical moments. The command
//! line reads the fault from `INRUSH_FAULT`; nothing else sets it.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use inrush_rows::cancel::Stop;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::SIGSTOP;

/// A step at which a run can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// The run is in the ledger, and nothing is read for it.
    RunEntered,
    /// The rows of a unit are sent, and its COMMIT is not.
    BeforeUnitCommit,
    /// COMMIT of a unit is sent, and its answer is not read yet.
    UnitCommitSent,
    /// A unit is committed.
    AfterUnitCommit,
    /// In the middle of a COPY.
    InCopy,
    /// A batch of a unit that is loaded carefully was written.
    InCarefulCopy,
    /// All units are loaded.
    BeforeSwitch,
    /// The switch's transaction has attached everything, and has not marked the run as switched.
    InSwitch,
    /// COMMIT of the switch is not yet sent.
    BeforeSwitchCommit,
    /// COMMIT of the switch is sent, and its answer is not read yet.
    SwitchCommitSent,
    /// The switch is committed.
    AfterSwitchCommit,
    /// The switch is committed and recorded; staging files are not removed yet.
    BeforeTidying,
    /// Everything is done except the report.
    BeforeReport,
    /// A batch is lost: its rows are counted as sent, but are not sent.
    BatchLost,
    /// The first row of a batch is sent twice, and the second row not at all.
    RowDoubled,
    /// The first two rows of a batch exchange their first values.
    ValuesExchanged,
}

const POINTS: &[(&str, FaultPoint)] = &[
    ("run_entered", FaultPoint::RunEntered),
    ("before_unit_commit", FaultPoint::BeforeUnitCommit),
    ("unit_commit_sent", FaultPoint::UnitCommitSent),
    ("after_unit_commit", FaultPoint::AfterUnitCommit),
    ("in_copy", FaultPoint::InCopy),
    ("in_careful_copy", FaultPoint::InCarefulCopy),
    ("before_switch", FaultPoint::BeforeSwitch),
    ("in_switch", FaultPoint::InSwitch),
    ("before_switch_commit", FaultPoint::BeforeSwitchCommit),
    ("switch_commit_sent", FaultPoint::SwitchCommitSent),
    ("after_switch_commit", FaultPoint::AfterSwitchCommit),
    ("before_tidying", FaultPoint::BeforeTidying),
    ("before_report", FaultPoint::BeforeReport),
    ("batch_lost", FaultPoint::BatchLost),
    ("row_doubled", FaultPoint::RowDoubled),
    ("values_exchanged", FaultPoint::ValuesExchanged),
];

/// The action at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Die,
    /// Stop as by SIGSTOP, until SIGCONT comes.
    Stop,
    /// Like `Stop`, then wait until the run is asked to stop. After SIGCONT only one thread handles the signal that
    /// asks the run to stop; without this wait the other threads could finish first.
    StopUntilAsked,
}

const ACTIONS: &[(&str, Action)] = &[
    ("stop:", Action::Stop),
    ("stop_until_asked:", Action::StopUntilAsked),
];

/// The fault of a run. `POINT` or `POINT:N` kills the process at the N-th time that it reaches the step.
/// `stop:POINT[:N]` stops it there until SIGCONT comes; `stop_until_asked:POINT[:N]` also waits until a signal has
/// asked the run to stop.
#[derive(Debug)]
pub struct Fault {
    point: FaultPoint,
    action: Action,
    left: AtomicU32,
    stop: Option<Stop>,
}

impl Fault {
    /// This fault with `stop`, which is set when the run is asked to stop.
    pub fn heeding(self, stop: &Stop) -> Fault {
        Fault {
            stop: Some(stop.clone()),
            ..self
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let (action, text) = ACTIONS
            .iter()
            .find_map(|(prefix, action)| Some((*action, text.strip_prefix(prefix)?)))
            .unwrap_or((Action::Die, text));
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (
                name,
                count
                    .parse()
                    .map_err(|_| format!("`{count}` is not a number"))?,
            ),
            None => (text, 1),
        };
        POINTS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, point)| Fault {
                point: *point,
                action,
                left: AtomicU32::new(count),
                stop: None,
            })
            .ok_or_else(|| {
                let names: Vec<&str> = POINTS.iter().map(|(name, _)| *name).collect();
                format!("`{name}` is not one of {}", names.join(", "))
            })
    }
}

impl fmt::Display for FaultPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = POINTS
            .iter()
            .find(|(_, point)| point == self)
            .map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

/// Reports that a step is reached. If the fault names this step, the process ends here, as by `kill -9`.
pub fn reach(fault: Option<&Fault>, point: FaultPoint) {
    if let Some(fault) = fault
        && wished(Some(fault), point)
    {
        if fault.action == Action::Die {
            die(point);
        }
        // The signal is sent to this thread. A signal to the process would stop the thread that receives it first, and
        // this thread would continue.
        let _ = signal_hook::low_level::raise(SIGSTOP);
        if fault.action == Action::StopUntilAsked {
            wait_until_asked(fault.stop.as_ref());
        }
    }
}

fn wait_until_asked(stop: Option<&Stop>) {
    let Some(stop) = stop else { return };
    let bell = stop.bell().expect("a pair of sockets for a test");
    while stop.asked().is_none() {
        let _ = poll(&mut [PollFd::new(&bell, PollFlags::IN)], None);
    }
}

/// True if the fault belongs to this point, however often the point was reached.
pub fn is_for(fault: Option<&Fault>, point: FaultPoint) -> bool {
    fault.is_some_and(|fault| fault.point == point)
}

/// True if the process is to end at this step now.
pub fn wished(fault: Option<&Fault>, point: FaultPoint) -> bool {
    let Some(fault) = fault.filter(|fault| fault.point == point) else {
        return false;
    };
    fault.left.fetch_sub(1, Ordering::Relaxed) == 1
}

/// Ends the process as `kill -9` does: nothing is flushed, closed or unwound.
pub fn die(point: FaultPoint) -> ! {
    // Shows the test that the step was reached; written in one call, unbuffered.
    let proof = format!("INRUSH_FAULT: died at {point}\n");
    let _ = rustix::io::write(rustix::stdio::stderr(), proof.as_bytes());
    let _ = kill_process(getpid(), Signal::KILL);
    unreachable!("SIGKILL ends the process")
}
