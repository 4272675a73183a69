//! The faults at the steps of a publish and of an undo, for tests.

use inrush_destination::PublishStep;
use inrush_fault::{self as fault, Fault, FaultPoint};

/// Reports that a destination has reached a step of a publish or of an undo.
pub(crate) fn reach_step(fault: Option<&Fault>, step: PublishStep) {
    let points: &[FaultPoint] = match step {
        PublishStep::Under => &[FaultPoint::InSwitch],
        PublishStep::BeforeCommit => &[FaultPoint::BeforeSwitchCommit],
        PublishStep::Committed => &[FaultPoint::SwitchCommitSent, FaultPoint::AfterSwitchCommit],
        PublishStep::Tidying => &[FaultPoint::BeforeTidying],
    };
    for point in points {
        fault::reach(fault, *point);
    }
}
