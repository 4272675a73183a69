//! Reports faults of expressions with their place in the package.

use inrush_package::{Flow, Package, PackageError, PackageFault, PackageFaultKind, Place};
use inrush_transform::error::{StepError, StepErrorKind};

use crate::error::PlanError;

/// All faults, each with its line in the package, in which the faulty part is marked.
pub fn of_package(package: &Package, flow: &Flow, errors: Vec<StepError>) -> PlanError {
    let flow = package.index_of(flow);
    let faults = errors.into_iter().map(|error| {
        let path = match is_of_output(&error) {
            true => format!("flow[{flow}].{}", error.setting),
            false => format!("flow[{flow}].step[{}].{}", error.step - 1, error.setting),
        };
        let place = match is_of_key(&error) {
            true => package.origin.key_place(&path),
            false => package.origin.place(&path),
        };
        fault(place, &error)
    });
    match PackageError::of(faults.collect()) {
        Err(error) => PlanError::Package(error),
        Ok(()) => unreachable!("planning fails with at least one fault"),
    }
}

/// A fault at a place of the package.
pub fn at(place: Place, conflict: String, hint: &str) -> PlanError {
    let kind = PackageFaultKind::Conflict {
        conflict,
        mend: hint.to_owned(),
    };
    PlanError::Package(PackageError::new(place, kind))
}

/// Conditions of outputs are settings of the flow, not of a step.
fn is_of_output(error: &StepError) -> bool {
    error.setting.starts_with("output[")
}

/// The faulty name is the key of its setting: a column of the flow in `on`, or a new column of `derive` or `take`. The value
/// of such a setting is an expression or a column of the reference.
fn is_of_key(error: &StepError) -> bool {
    let is_new_name = matches!(
        error.kind,
        StepErrorKind::HidesColumn { .. } | StepErrorKind::Name { .. }
    );
    let names_new_column = ["derive.", "take."]
        .iter()
        .any(|setting| error.setting.starts_with(setting));
    error.setting.starts_with("on.") || is_new_name && names_new_column
}

fn fault(mut place: Place, error: &StepError) -> PackageFault {
    let mut conflict = match is_of_output(error) {
        true => error.kind.to_string(),
        false => format!("step {}: {}", error.step, error.kind),
    };
    if let Some(range) = &error.range
        && !mark(&mut place, &error.expression, range.clone())
    {
        conflict.push('\n');
        conflict.push_str(error.excerpt().trim_end());
    }
    PackageFault {
        place,
        kind: PackageFaultKind::Conflict {
            conflict,
            mend: error.kind.hint(),
        },
    }
}

/// Marks a part of the expression in its line of the package. False if the line does not have the expression literally: it
/// may have several lines, escapes or parameters.
fn mark(place: &mut Place, expression: &str, range: std::ops::Range<usize>) -> bool {
    let Some(line) = &mut place.line else {
        return false;
    };
    let (Some(at), false) = (line.text.find(expression), expression.is_empty()) else {
        return false;
    };
    let (Some(before), Some(part)) = (expression.get(..range.start), expression.get(range.start..))
    else {
        return false;
    };
    let part = &part[..part.len().min(range.len())];
    line.column = line.text[..at].chars().count() + before.chars().count() + 1;
    line.width = part.chars().count().max(1);
    true
}
