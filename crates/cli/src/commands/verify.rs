//! `inrush verify`.

use inrush::cancel::Stop;
use inrush::plan::PlanError;
use inrush::sniff::{SniffOptions, is_declared, sniff};
use inrush::source::{SourceFile, SplitCheck, SplitCheckSettings, SplitMethod, check_split};

use super::files;
use crate::arguments::VerifyArguments;
use crate::errors::CommandError;
use crate::numbers::counted;
use crate::{output, signals};

/// Pieces of a file where the arguments do not say how large they are.
const RANGES_WANTED: u64 = 251;
const VERIFICATION: u8 = 5;

/// Holds reading in pieces against reading in one go.
pub fn verify(arguments: &VerifyArguments) -> Result<u8, CommandError> {
    let format = files::format(arguments.format.as_deref())?;
    let _guard = signals::end_at_once(None);
    let files = files::resolve(&arguments.files, &format, "verify")?;
    if let Some(pipe) = files.iter().find(|file| file.is_pipe()) {
        return Err(CommandError::Usage {
            what: format!(
                "{} is a pipe, and each file is read twice",
                pipe.path.display()
            ),
            hint: "write it to a file first".to_owned(),
        });
    }
    let dialect = if is_declared(&format) {
        format
            .dialect(&files[0].path.to_string_lossy())
            .map_err(|error| inrush::Error::from(PlanError::from(error)))?
    } else {
        let options = SniffOptions {
            format,
            everything: false,
        };
        let guess =
            sniff(&files, &options).map_err(|error| inrush::Error::from(PlanError::from(error)))?;
        guess.dialect()
    };
    let threads = arguments.streams.map_or_else(
        || std::thread::available_parallelism().map_or(2, usize::from),
        usize::from,
    );
    let mut status = 0;
    for file in &files {
        let settings = SplitCheckSettings {
            range_bytes: arguments
                .range_bytes
                .unwrap_or((file.size_bytes / RANGES_WANTED).max(1)),
            threads,
        };
        let check =
            check_split(file, &dialect, settings, &Stop::default()).map_err(inrush::Error::from)?;
        let Some(check) = check else { continue };
        output::say(&told(file, &check));
        if check.difference.is_some() {
            status = VERIFICATION;
        }
    }
    Ok(status)
}

fn told(file: &SourceFile, check: &SplitCheck) -> String {
    let how = match check.method {
        SplitMethod::Local => "cut at line ends",
        SplitMethod::Pass => "cut by a pass over the file",
        SplitMethod::Fed => "fed by one reader",
    };
    let read = format!(
        "{}: {}, {} passed over, in {}, {how}",
        file.path.display(),
        counted(check.record_count, "record"),
        counted(check.skipped_count, "line"),
        counted(check.range_count as u64, "piece"),
    );
    match &check.difference {
        None => format!("{read}: the same in pieces as in one go"),
        Some(difference) => format!(
            "{read}: NOT the same in bytes {} to {}: {} in one go, {} in pieces. Do not load this \
             file by several streams (--streams 1 reads it in one go), and please report it",
            difference.range.start,
            difference.range.end,
            counted(difference.serial_count, "record"),
            counted(difference.split_count, "record"),
        ),
    }
}
