//! `inrush verify --compare`.

use std::path::Path;

use inrush::cancel::Stop;
use inrush::printable::line;
use inrush::{ExitStatus, FlowCompared, SplitDifference, UnfitRows};

use crate::arguments::VerifyArguments;
use crate::errors::CommandError;
use crate::numbers::{count, counted};
use crate::{Surroundings, credentials, embedded, output, package_file, signals};

/// Compares the flows of a package with their sources.
pub fn compare(
    arguments: &VerifyArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let [path] = arguments.files.as_slice() else {
        return Err(CommandError::Usage {
            what: "--compare takes one package".to_owned(),
            hint: "inrush verify --compare PACKAGE".to_owned(),
        });
    };
    let mut ready = package_file::read(Path::new(path), &arguments.overrides)?;
    let names: Vec<String> = ready.package.flows.iter().map(name_of).collect();
    if let Some(unknown) = arguments.flow.iter().find(|name| !names.contains(name)) {
        return Err(CommandError::Usage {
            what: format!("the package has no flow `{unknown}`"),
            hint: format!("its flows are {}", names.join(", ")),
        });
    }
    if !arguments.flow.is_empty() {
        let is_asked = |flow: &inrush::package::Flow| arguments.flow.contains(&name_of(flow));
        ready.package.flows.retain(is_asked);
    }
    let _guard = signals::end_at_once(None);
    let folder = ready.folder.clone();
    let reached = embedded::reach_to_look(ready.package, &folder, ready.data_trust, surroundings)?;
    let defaults = credentials::connection_defaults()?;
    let site_packages = reached.site_packages.as_deref();
    let stop = Stop::default();
    let compared = inrush::compare(&reached.package, &defaults, &folder, site_packages, &stop)?;
    for flow in &compared {
        for found in result_lines(flow) {
            output::say(&line(&found));
        }
    }
    reached.stop()?;
    Ok(
        match compared.iter().all(|flow| flow.comparison.is_equal()) {
            true => ExitStatus::Clean,
            false => ExitStatus::Verification,
        },
    )
}

fn name_of(flow: &inrush::package::Flow) -> String {
    flow.shown_name().to_owned()
}

/// A split that differs, with some of its keys.
fn split_lines(split: &SplitDifference) -> Vec<String> {
    let [here, there] = split.rows;
    let mut lines = vec![format!(
        "  {}: {} with the sum {} in the source, {} with the sum {} in the target",
        split.name,
        counted(here, "row"),
        split.sums[0],
        counted(there, "row"),
        split.sums[1],
    )];
    lines.extend(split.keys.iter().map(|key| format!("    {key}")));
    let differing = split.only[0] + split.only[1] + split.changed;
    let more = differing.saturating_sub(split.keys.len() as u64);
    if more > 0 {
        lines.push(format!("    ... and {} more", count(more)));
    }
    if split.unseen > 0 {
        lines.push(format!(
            "    besides, {} of this part (both sides together) were not compared one by one",
            counted(split.unseen, "row")
        ));
    }
    lines
}

/// Rows that have no counterpart, because a value does not fit the target's type.
fn unfit_line(side: &str, unfit: &UnfitRows) -> Option<String> {
    let example = unfit.example.as_deref().unwrap_or_default();
    (unfit.count > 0).then(|| {
        format!(
            "  {} of the {side} with a value that does not fit its column in the target, such as {example}",
            counted(unfit.count, "row")
        )
    })
}

/// The result of a flow, line by line.
fn result_lines(flow: &FlowCompared) -> Vec<String> {
    let found = &flow.comparison;
    let (name, [here, there]) = (&flow.flow, found.rows);
    let limit = flow.limit.as_ref();
    let limit = limit.map_or_else(String::new, |limit| format!(" ({limit})"));
    let mut lines = Vec::new();
    match found.is_equal() {
        true => lines.push(format!(
            "{name}: {} of {} and of {}{limit} are equal",
            counted(here, "row"),
            flow.source,
            flow.target
        )),
        false => {
            let [only_here, only_there] = found.only();
            lines.push(format!(
                "{name}: {} of {} and {} of {}{limit} differ: {}{} only in the source, {} only in the target, {} with other values",
                counted(here, "row"),
                flow.source,
                count(there),
                flow.target,
                match found.unseen() {
                    0 => "",
                    _ => "at least ",
                },
                count(only_here),
                count(only_there),
                count(found.changed()),
            ));
            lines.push(format!(
                "  the differences are in {} of {}; the key is ({})",
                count(found.splits.len() as u64),
                counted(found.splits_all as u64, "split"),
                flow.key.join(", ")
            ));
            if flow.limit.is_some() && only_there > 0 {
                lines.push(
                    "  rows that were changed in the source since the mark are only in the target: run the load, and compare again"
                        .to_owned(),
                );
            }
            lines.extend(found.splits.iter().flat_map(split_lines));
            lines.extend(unfit_line("source", &found.unfit[0]));
            lines.extend(unfit_line("target", &found.unfit[1]));
        }
    }
    if !flow.left_out.is_empty() {
        let left_out = flow.left_out.join(", ");
        lines.push(format!(
            "  not compared, because only one side has them: {left_out}"
        ));
    }
    if !flow.without_form.is_empty() {
        let without_form = flow.without_form.join(", ");
        lines.push(format!(
            "  not compared, because the two databases do not write their values in the same form: {without_form}"
        ));
    }
    lines
}
