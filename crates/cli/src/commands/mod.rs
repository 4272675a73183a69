//! One module for each command.

mod capacity;
mod check;
mod cleanup;
mod compare;
mod copy;
pub mod destination;
mod files;
mod init;
mod join;
mod lineage;
pub mod load;
mod peek;
mod preflight;
mod rejects;
mod report;
mod run;
mod status;
mod undo;
mod verify;

use inrush::ExitStatus;

use crate::Surroundings;
use crate::arguments::{Arguments, Command};
use crate::bench;
use crate::demo;
use crate::errors::CommandError;

/// Runs the command and returns the exit status.
pub fn run(arguments: Arguments, surroundings: &Surroundings) -> Result<ExitStatus, CommandError> {
    match arguments.command {
        Command::Load(arguments) => load::load(&arguments, surroundings),
        Command::Copy(arguments) => copy::copy(&arguments, surroundings),
        Command::Init(arguments) => init::init(&arguments),
        Command::Run(arguments) => run::run(&arguments, surroundings),
        Command::Join(arguments) => join::join(&arguments, surroundings),
        Command::Check(arguments) => check::check(&arguments, surroundings),
        Command::Peek(arguments) => peek::peek(&arguments, surroundings),
        Command::Preflight(arguments) => preflight::preflight(&arguments, surroundings),
        Command::Verify(arguments) => verify::verify(&arguments, surroundings),
        Command::Status(arguments) => status::status(&arguments, surroundings),
        Command::Lineage(arguments) => lineage::lineage(&arguments, surroundings),
        Command::Cleanup(arguments) => cleanup::cleanup(&arguments, surroundings),
        Command::Rejects(arguments) => rejects::rejects(&arguments, surroundings),
        Command::Report(arguments) => report::report(&arguments),
        Command::Undo(arguments) => undo::undo(&arguments, surroundings),
        Command::Demo(arguments) => demo::demo(&arguments, surroundings),
        Command::Bench(arguments) => bench::bench(&arguments, surroundings),
    }
}
