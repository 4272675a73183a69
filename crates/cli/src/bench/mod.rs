//! `inrush bench`: the record workloads.

mod clients;
mod etlwr;

use std::path::Path;

use inrush::ExitStatus;
use serde::Serialize;
use serde_json::json;

use crate::arguments::{BenchArguments, BenchCommand};
use crate::errors::CommandError;
use crate::{Surroundings, output};

/// Repeats a record workload.
pub fn bench(
    arguments: &BenchArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        BenchCommand::Etlwr(arguments) => etlwr::etlwr(arguments, surroundings),
        BenchCommand::Inserts(arguments) => clients::inserts(arguments, surroundings),
        BenchCommand::Calls(arguments) => clients::calls(arguments, surroundings),
    }
}

/// Prints the results of a workload and their folder: as JSON for a program, or in words for a person.
fn tell(
    json: bool,
    quiet: bool,
    results: &impl Serialize,
    folder: &Path,
    words: impl FnOnce() -> String,
) {
    if json {
        let line = json!({
            "event": "results",
            "folder": folder.display().to_string(),
            "results": results,
        });
        let _ = output::json(&line);
    } else if !quiet {
        output::say(&words());
    }
}
