//! `inrush bench`: the record workloads.

mod clients;
mod etlwr;

use inrush::ExitStatus;

use crate::Surroundings;
use crate::arguments::{BenchArguments, BenchCommand};
use crate::errors::CommandError;

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
