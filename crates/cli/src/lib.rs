//! The `inrush` command: arguments, progress, exit statuses, hints.
//!
//! The engine neither prints nor reads the environment; this crate does both for it. It is a
//! library, so that the binary and the console script of the Python wheel are the same command.

mod account;
pub mod api;
mod arguments;
mod commands;
mod credentials;
pub mod demo;
mod embedded;
mod errors;
mod json_events;
mod load_package;
mod numbers;
mod output;
mod package_file;
mod progress;
mod running;
mod signals;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::arguments::Arguments;

/// What the process that runs the command knows beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The folder of Python packages that the wheel with PostgreSQL's programs may be in.
    pub site_packages: Option<PathBuf>,
}

/// Runs the command with these arguments (without the program's name) and returns its exit
/// status.
pub fn main(arguments: Vec<OsString>, surroundings: Surroundings) -> u8 {
    let words = std::iter::once(OsString::from("inrush")).chain(arguments);
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help goes to a pager that may be closed early: that is no fault.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    match commands::run(arguments, &surroundings) {
        Ok(status) => status,
        Err(error) => {
            output::errors(&error.to_string());
            error.exit_status()
        }
    }
}
