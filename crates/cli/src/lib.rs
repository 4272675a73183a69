//! The `inrush` command: arguments, progress, exit statuses, hints.
//!
//! The `inrush` library neither prints nor reads the environment; this crate does both. It is a library itself, so that
//! the binary and the console script of the Python wheel are the same command.

mod arguments;
mod bench;
mod c_library;
mod commands;
mod copy_package;
mod credentials;
mod demo;
mod descriptors;
mod embedded;
mod errors;
pub mod heap;
mod json_events;
mod load_package;
mod names;
mod not_utf8;
mod numbers;
mod output;
mod package_file;
mod progress;
pub mod python_run;
mod run_summary;
mod running;
mod save_package;
mod signals;
mod target_package;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use clap::error::ErrorKind;
use inrush::ExitStatus;

use crate::arguments::Arguments;

/// Facts about the process that runs the command, besides its arguments.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The folder of Python packages that the wheel with PostgreSQL's programs may be in.
    pub site_packages: Option<PathBuf>,
    /// The folder of this Python package, which may bring the server extension.
    pub own_package: Option<PathBuf>,
}

/// If the address space is limited to less than this (`ulimit -v`), threads share one heap.
const ONE_HEAP_BELOW: u64 = 8 << 30;

/// Runs the command with these arguments (without the program's name) and returns its exit
/// status.
pub fn main(arguments: Vec<OsString>, surroundings: Surroundings) -> ExitStatus {
    // This must happen first: otherwise the next file that is opened gets the number of a standard descriptor.
    descriptors::hold_standard();
    let _signals = signals::of_command();
    output::tell_panics();
    signals::survive_file_limit();
    if inrush::address_space().is_some_and(|space| space.limit < ONE_HEAP_BELOW) {
        c_library::use_one_heap();
    }
    let words = std::iter::once(OsString::from("inrush")).chain(arguments);
    let words: Vec<OsString> = words.collect();
    let arguments = match Arguments::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            output::errors(&not_utf8::refused(&words).to_string());
            return ExitStatus::Usage;
        }
        Err(error) => {
            // The command printed help or its version.
            let status = match error.exit_code() {
                0 => ExitStatus::Clean,
                _ => ExitStatus::Usage,
            };
            output::arguments(error);
            return match output::lost() {
                Some(reason) => told_lost_output(status, reason, false),
                None => status,
            };
        }
    };
    let changes = arguments.command.changes_something();
    match commands::run(arguments, &surroundings) {
        Ok(status) => match output::lost() {
            Some(reason) => told_lost_output(status, reason, changes),
            None => status,
        },
        Err(error) => {
            output::errors(&error.to_string());
            error.exit_status()
        }
    }
}

/// Reports that the standard output is incomplete, and returns the exit status. If the command has changed something,
/// that work determines the status; otherwise the command has failed, because the output was its only purpose.
fn told_lost_output(status: ExitStatus, reason: &str, changes: bool) -> ExitStatus {
    let text = format!("cannot write to standard output: {reason}");
    if changes || status != ExitStatus::Clean {
        output::notes([text]);
        return status;
    }
    output::errors(&format!("error: {text}"));
    ExitStatus::Failed
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_help_has_examples_and_exit_statuses() {
        let command = Arguments::command();
        let mut pages = Vec::new();
        let mut above = vec![command];
        while let Some(page) = above.pop() {
            if page.get_name() != "help" {
                above.extend(page.get_subcommands().cloned());
                pages.push(page);
            }
        }
        for mut page in pages {
            let help = page.render_long_help().to_string();
            // The long help text, not the one line in the list of commands.
            assert!(page.get_long_about().is_some(), "{}", page.get_name());
            for part in ["Examples:", "Exit status", "inrush"] {
                assert!(help.contains(part), "{part} is not in {help}");
            }
            // Longer text is wrapped, which would break the lines of the examples.
            for text in [page.get_long_about(), page.get_after_long_help()] {
                let text = text.map(ToString::to_string).unwrap_or_default();
                for line in text.lines() {
                    assert!(line.chars().count() <= 98, "{line}");
                }
            }
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }

    #[test]
    fn mistakes_in_arguments_end_with_2_and_help_with_0() {
        for (words, status) in [
            (vec!["--help"], 0),
            (vec!["--version"], 0),
            (vec![], 2),
            (vec!["lod"], 2),
            (vec!["load", "a.csv"], 2),
            (
                vec![
                    "load",
                    "a.csv",
                    "--to",
                    "postgresql://u:p@h/d",
                    "--table",
                    "t",
                ],
                2,
            ),
            (
                vec!["load", "a.csv", "--to", "embedded", "--table", "a;b"],
                2,
            ),
            (vec!["run", "no-such-package.toml"], 2),
            (vec!["run", "a.toml", "--set", "novalue"], 2),
            (vec!["status"], 2),
            (vec!["status", "a.toml", "--to", "embedded:x"], 2),
            (vec!["cleanup", "--to", "embedded"], 2),
            (vec!["demo", "--scale", "-1"], 2),
            (vec!["demo", "--parts", "0"], 2),
            (vec!["bench"], 2),
            (vec!["bench", "etlwr", "--scale", "-1"], 2),
            (vec!["bench", "etlwr", "--to", "x.duckdb"], 2),
            (vec!["bench", "etlwr", "generate", "--scale", "1"], 2),
            (vec!["bench", "etlwr", "run"], 2),
            (vec!["bench", "inserts", "--connections", "0"], 2),
            (vec!["bench", "inserts", "--to", "x.duckdb"], 2),
            (vec!["bench", "inserts", "--rows", "1", "--for", "1s"], 2),
            (vec!["bench", "calls", "--clients", "20-1"], 2),
            (vec!["bench", "calls", "--rate", "-1"], 2),
            (vec!["bench", "calls", "seek", "--sql", "x.sql"], 2),
        ] {
            let arguments = words.iter().map(OsString::from).collect();
            assert_eq!(
                main(arguments, Surroundings::default()).code(),
                status,
                "{words:?}"
            );
        }
    }
}
