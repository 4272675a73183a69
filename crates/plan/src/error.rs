//! Errors of planning a package.

use inrush_destination::{Ability, LayoutError};
use inrush_package::{PackageError, Place};
use inrush_rows::exit_status::ExitStatus;
use inrush_source::SourceError;

use crate::destination_error::DestinationError;

/// A plan cannot be made. Nothing has been changed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The package is not consistent.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The format or the types of a flow's inputs could not be guessed.
    #[error(transparent)]
    Guess(Box<dyn std::error::Error + Send + Sync>),
    /// The destination refused, or could not be asked.
    #[error(transparent)]
    Destination(DestinationError),
    /// The run was asked to stop while its plan waited for the destination.
    #[error("planning was stopped on request")]
    Interrupted,
    /// The reference of a lookup cannot be read.
    #[error(
        "{place}: step {step}, the lookup in {name}: its rows cannot be read\n{}", place.excerpt().trim_end_matches('\n')
    )]
    Reference {
        /// The place of the lookup in the package.
        place: Box<Place>,
        /// The number of the step, counted from 1.
        step: usize,
        /// The reference that is looked up, as messages name it.
        name: String,
        /// The cause.
        #[source]
        cause: Box<PlanError>,
    },
    /// The package and the target do not match.
    #[error("flow `{flow}`: {what}")]
    Mismatch {
        /// The flow.
        flow: String,
        /// The conflict, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The package asks for abilities that the destination lacks.
    #[error("{}{}", of_flow(flow.as_deref()), refusals(lacking))]
    Abilities {
        /// The flow; `None` if the abilities are needed by the whole run.
        flow: Option<String>,
        /// The abilities, at least one.
        lacking: Vec<Ability>,
    },
    /// The load units do not contain each split of a flow exactly once: a bug in the destination's code.
    #[error("flow `{flow}`: {source}")]
    Layout {
        /// The flow.
        flow: String,
        /// The split and the unit.
        source: LayoutError,
    },
    /// The target cannot be loaded as it is.
    #[error("{target} {what}")]
    Target {
        /// The target.
        target: String,
        /// The obstacle, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The server has too little of a resource.
    #[error("{what}")]
    Limit {
        /// The needed and the available amount, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The server's disk has too little space.
    #[error("{text} of text will be stored, but the server's disk has {free} free at {folder}")]
    Room {
        /// The size of the text, in words.
        text: String,
        /// The free space.
        free: String,
        /// The folder of the server's tables.
        folder: String,
    },
    /// Privileges are missing.
    #[error("role {role} lacks what the plan needs: {missing}")]
    Privileges {
        /// The role.
        role: String,
        /// The missing privileges.
        missing: String,
        /// Statements that grant them.
        grants: String,
    },
}

impl PlanError {
    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            PlanError::Package(_)
            | PlanError::Source(_)
            | PlanError::Guess(_)
            | PlanError::Interrupted => None,
            PlanError::Destination(error) => error.hint(),
            PlanError::Reference { cause, .. } => cause.hint(),
            PlanError::Layout { .. } => Some(
                "this is a mistake in Inrush, and nothing was changed; report it with the package"
                    .to_owned(),
            ),
            PlanError::Abilities { lacking, .. } => {
                let mut fixes: Vec<&str> = lacking.iter().map(|it| it.text().fix).collect();
                fixes.dedup();
                Some(fixes.join("; "))
            }
            PlanError::Mismatch { hint, .. }
            | PlanError::Target { hint, .. }
            | PlanError::Limit { hint, .. } => Some(hint.clone()),
            PlanError::Room { .. } => Some(
                "free space there; or, if the rows take less than half of their text, set \
                 `disk_check = false` in [run]"
                    .to_owned(),
            ),
            PlanError::Privileges { grants, .. } => Some(format!("let the owner run: {grants}")),
        }
    }
}

impl PlanError {
    /// The exit status for this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            PlanError::Package(_)
            | PlanError::Mismatch { .. }
            | PlanError::Abilities { .. }
            | PlanError::Source(SourceError::Unsuitable { .. }) => ExitStatus::Usage,
            PlanError::Destination(error) => error.exit_status(),
            PlanError::Reference { cause, .. } => cause.exit_status(),
            _ => ExitStatus::Failed,
        }
    }
}

/// A flow's name, as a prefix of a message.
fn of_flow(flow: Option<&str>) -> String {
    flow.map_or(String::new(), |flow| format!("flow `{flow}`: "))
}

fn refusals(lacking: &[Ability]) -> String {
    let sentences: Vec<String> = lacking.iter().map(|ability| ability.refusal()).collect();
    sentences.join("; ")
}
