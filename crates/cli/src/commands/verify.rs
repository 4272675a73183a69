//! `inrush verify`.

use std::path::Path;
use std::sync::Arc;

use inrush::ExitStatus;
use inrush::cancel::Stop;
use inrush::package::{Flow, Format};
use inrush::plan::PlanError;
use inrush::printable::line;
use inrush::sniff::{SniffOptions, is_declared, sniff};
use inrush::source::{
    Dialect, SourceFile, SplitCheck, SplitCheckSettings, SplitMethod, TableFile, check_split,
};

use super::{compare, files};
use crate::arguments::VerifyArguments;
use crate::errors::CommandError;
use crate::numbers::counted;
use crate::{Surroundings, output, package_file, signals};

/// The number of pieces of a file if the arguments do not give their size.
const RANGES_WANTED: u64 = 251;

/// Files of one dialect.
struct Group {
    files: Vec<Arc<SourceFile>>,
    dialect: Dialect,
}

/// Compares reading in pieces with reading in one go.
pub fn verify(
    arguments: &VerifyArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    if arguments.compare {
        return compare::compare(arguments, surroundings);
    }
    if !arguments.split {
        return Err(CommandError::Usage {
            what: "neither --split nor --compare is given".to_owned(),
            hint: "inrush verify --split FILES reads files twice; inrush verify --compare PACKAGE compares targets with \
                   their sources"
                .to_owned(),
        });
    }
    let _guard = signals::end_at_once(None);
    let groups = match arguments.files.as_slice() {
        [package] if is_package(package) => of_package(arguments, Path::new(package))?,
        names => vec![of_files(arguments, names)?],
    };
    let threads = arguments.streams.map_or_else(
        || std::thread::available_parallelism().map_or(2, usize::from),
        usize::from,
    );
    let mut status = ExitStatus::Clean;
    for group in &groups {
        for file in &group.files {
            let settings = SplitCheckSettings {
                range_bytes: arguments
                    .range_bytes
                    .unwrap_or((file.size_bytes / RANGES_WANTED).max(1)),
                threads,
            };
            let check = check_split(file, &group.dialect, settings, &Stop::default())
                .map_err(inrush::Error::from)?;
            let Some(check) = check else { continue };
            output::say(&line(&told(file, &check)));
            if check.difference.is_some() {
                status = ExitStatus::Verification;
            }
        }
    }
    Ok(status)
}

fn is_package(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "toml")
}

/// The files that the arguments name.
fn of_files(arguments: &VerifyArguments, names: &[String]) -> Result<Group, CommandError> {
    if let Some(package) = names.iter().find(|name| is_package(name)) {
        return Err(CommandError::Usage {
            what: format!("{package} is a package, and other files are given with it"),
            hint: "give only one package, or only files".to_owned(),
        });
    }
    let overrides = &arguments.overrides;
    let of_package = [
        ("--flow", !arguments.flow.is_empty()),
        ("--set", !overrides.set.is_empty()),
        ("--connection", !overrides.connection.is_empty()),
    ];
    if let Some((argument, _)) = of_package.iter().find(|(_, is_given)| *is_given) {
        return Err(CommandError::Usage {
            what: format!("{argument} needs a package, but none is given"),
            hint: format!(
                "give the package (NAME.toml) in place of the files, or leave {argument} out"
            ),
        });
    }
    let format = files::format(arguments.format.as_deref())?;
    let files = files::resolve(names, Path::new(""), &format, "verify")?;
    refuse_pipes(&files)?;
    let dialect = dialect(&files, format)?;
    Ok(Group { files, dialect })
}

/// The files of a package's flows, each in its flow's format.
fn of_package(arguments: &VerifyArguments, path: &Path) -> Result<Vec<Group>, CommandError> {
    if arguments.format.is_some() {
        return Err(CommandError::Usage {
            what: "--format was given with a package, which declares the format of its files"
                .to_owned(),
            hint: "leave --format out, or change `format` in the package".to_owned(),
        });
    }
    let ready = package_file::read(path, &arguments.overrides)?;
    let flows = &ready.package.flows;
    let name = |flow: &Flow| flow.shown_name().to_owned();
    for wanted in &arguments.flow {
        if !flows.iter().any(|flow| name(flow) == *wanted) {
            let names: Vec<String> = flows.iter().map(name).collect();
            return Err(CommandError::Usage {
                what: format!("{} has no flow {wanted:?}", path.display()),
                hint: format!("its flows are {}", names.join(", ")),
            });
        }
    }
    let mut groups = Vec::new();
    for flow in flows {
        if !arguments.flow.is_empty() && !arguments.flow.contains(&name(flow)) {
            continue;
        }
        // Paths are shown as they were given, as in a run.
        let folder = ready.folder.strip_prefix(".").unwrap_or(&ready.folder);
        let files = files::resolve(flow.files.patterns(), folder, &flow.format, &name(flow))?;
        refuse_pipes(&files)?;
        let mut dialect = match flow.columns.is_empty() {
            true => dialect(&files, flow.format.clone())?,
            false => declared(&files, &flow.format)?,
        };
        if let [_] = flow.columns.as_slice() {
            // A load into a single column reads blank lines in this way.
            dialect.blank_lines_are_records = !dialect.trailing_delimiter;
        }
        groups.push(Group { files, dialect });
    }
    Ok(groups)
}

fn refuse_pipes(files: &[Arc<SourceFile>]) -> Result<(), CommandError> {
    match files.iter().find(|file| file.is_pipe()) {
        None => Ok(()),
        Some(pipe) => Err(CommandError::Usage {
            what: format!(
                "{} is a pipe, and each file is read twice",
                pipe.path.display()
            ),
            hint: "write it to a file first".to_owned(),
        }),
    }
}

/// The dialect of the files: declared, or guessed.
fn dialect(files: &[Arc<SourceFile>], format: Format) -> Result<Dialect, CommandError> {
    if is_declared(&format) {
        return declared(files, &format);
    }
    let options = SniffOptions {
        format,
        everything: false,
        name_bytes_max: None,
    };
    let guess =
        sniff(files, &options).map_err(|error| inrush::Error::from(inrush::of_sniff(error)))?;
    Ok(guess.dialect())
}

fn declared(files: &[Arc<SourceFile>], format: &Format) -> Result<Dialect, CommandError> {
    if files[0].table().is_some() {
        return Ok(TableFile::dialect());
    }
    let dialect = format
        .dialect(&files[0].path.to_string_lossy())
        .map_err(|error| inrush::Error::from(PlanError::from(error)))?;
    Ok(dialect)
}

fn told(file: &SourceFile, check: &SplitCheck) -> String {
    let how = match check.method {
        SplitMethod::Local => "cut at line ends",
        SplitMethod::Pass => "cut where a pass over the file found ends of records",
        SplitMethod::Fed => "fed by one reader",
        SplitMethod::RowGroups => "cut at row groups",
    };
    let read = format!(
        "{}: {}, {} skipped, in {}, {how}",
        file.path.display(),
        counted(check.record_count, "record"),
        counted(check.skipped_count, "line"),
        counted(check.range_count as u64, "piece"),
    );
    match &check.difference {
        None => format!("{read}: reading in pieces gives the same as reading in one go"),
        Some(difference) => format!(
            "{read}: NOT the same in {} {} to {}: {} in one go, {} in pieces. Do not load this \
             file by several streams (--streams 1 reads it in one go), and please report it",
            match check.method {
                SplitMethod::RowGroups => "rows",
                _ => "bytes",
            },
            difference.range.start,
            difference.range.end,
            counted(difference.serial_count, "record"),
            counted(difference.split_count, "record"),
        ),
    }
}
