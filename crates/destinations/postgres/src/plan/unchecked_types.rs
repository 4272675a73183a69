//! `unchecked_types`: what to do about columns whose text only the server reads, so that it may change their values
//! silently.

use inrush_package::UncheckedTypes;
use inrush_plan::PlanError;

use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;

/// The note, or the refusal, about columns whose values the server may change silently.
pub fn answer(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &[String],
) -> Result<Option<String>, PlanError> {
    if columns.is_empty() {
        return Ok(None);
    }
    let what = format!(
        "the server may silently round, cut or rewrite values of {}, because only the server reads {} text",
        columns.join(", "),
        if columns.len() == 1 { "its" } else { "their" }
    );
    match request.package.run.unchecked_types {
        UncheckedTypes::Warn => Ok(Some(format!(
            "{}: {what}; unchecked_types = \"refuse\" in [run] refuses such columns",
            target.sql
        ))),
        UncheckedTypes::Refuse => Err(target.mismatch(
            what,
            "load them as text and convert them with post_sql, or load them unchanged with \
                 unchecked_types = \"warn\" in [run]",
        )),
    }
}
