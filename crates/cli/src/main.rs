//! The `inrush` command.

use std::process::ExitCode;

use inrush_cli::Surroundings;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    ExitCode::from(inrush_cli::main(arguments, Surroundings::default()))
}
