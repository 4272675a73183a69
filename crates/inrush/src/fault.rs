//! Dying on purpose, for tests: `kill -9` at a named step of a run; and harm done to the rows on
//! their way, which the account or the verification must find.
//!
//! The promise "exactly once whatever is killed when" can only be tested by dying at the very
//! moments that matter. The command line reads the wish from `INRUSH_FAULT`; nothing else sets it.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// A step at which a run can be made to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// A unit is filled and measured, COMMIT not yet sent.
    BeforeUnitCommit,
    /// COMMIT of a unit is sent, its answer not read.
    UnitCommitSent,
    /// A unit is committed.
    AfterUnitCommit,
    /// In the middle of a COPY.
    InCopy,
    /// A batch of a unit that is loaded carefully is in.
    InCarefulCopy,
    /// All units are loaded.
    BeforeSwitch,
    /// The switch's transaction has attached everything, and has not marked the run.
    InSwitch,
    /// COMMIT of the switch is not yet sent.
    BeforeSwitchCommit,
    /// COMMIT of the switch is sent, its answer not read.
    SwitchCommitSent,
    /// The switch is committed.
    AfterSwitchCommit,
    /// Everything is done but for the report.
    BeforeReport,
    /// A batch is lost on its way: its rows are counted as sent, and are not.
    BatchLost,
    /// The first row of a batch is sent a second time, in place of the second.
    RowDoubled,
    /// The first two rows of a batch have exchanged their first values.
    ValuesExchanged,
}

const POINTS: &[(&str, FaultPoint)] = &[
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
    ("before_report", FaultPoint::BeforeReport),
    ("batch_lost", FaultPoint::BatchLost),
    ("row_doubled", FaultPoint::RowDoubled),
    ("values_exchanged", FaultPoint::ValuesExchanged),
];

/// A wish to die: `POINT` or `POINT:N` for the N-th time that it is reached. `stop:POINT` and
/// `stop:POINT:N` stand still there instead, until SIGCONT comes.
#[derive(Debug)]
pub struct Fault {
    point: FaultPoint,
    stop: bool,
    left: AtomicU32,
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let (stop, text) = match text.strip_prefix("stop:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
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
                stop,
                left: AtomicU32::new(count),
            })
            .ok_or_else(|| {
                let names: Vec<&str> = POINTS.iter().map(|(name, _)| *name).collect();
                format!("`{name}` is none of {}", names.join(", "))
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

/// Says that a step is reached; the process ends there, as by `kill -9`, if that is wished.
pub fn reach(fault: Option<&Fault>, point: FaultPoint) {
    if wished(fault, point) {
        if fault.is_some_and(|fault| fault.stop) {
            stand_still();
        } else {
            die(point);
        }
    }
}

/// Stops the process as SIGSTOP does; goes on after SIGCONT.
fn stand_still() {
    // SAFETY: the call takes plain values.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGSTOP);
    }
}

/// Whether the process is to end at this step now.
pub fn wished(fault: Option<&Fault>, point: FaultPoint) -> bool {
    let Some(fault) = fault.filter(|fault| fault.point == point) else {
        return false;
    };
    fault.left.fetch_sub(1, Ordering::Relaxed) == 1
}

/// Ends the process as `kill -9` does: nothing is flushed, closed or unwound.
pub fn die(point: FaultPoint) -> ! {
    // The proof for the test that the step was reached; written in one call, unbuffered.
    let proof = format!("INRUSH_FAULT: died at {point}\n");
    // SAFETY: both calls take plain values and a live buffer, and SIGKILL cannot be handled.
    unsafe {
        libc::write(2, proof.as_ptr().cast(), proof.len());
        libc::kill(libc::getpid(), libc::SIGKILL);
    }
    unreachable!("SIGKILL ends the process")
}
