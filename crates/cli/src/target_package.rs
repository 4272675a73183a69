//! The part of a package that describes the target, made from the arguments of `inrush load` and `inrush copy`.

use std::path::{Path, PathBuf};

use inrush::package::{
    BoundValue, Bounds, BoundsEvery, BoundsParts, BoundsWord, Connection, Flow, Mode, OneOrMany,
    Package, RejectLimit, RunSettings, UncheckedTypes, escape_braces,
};

use crate::arguments::{
    LoadMode, RunArguments, TargetArguments, ToArguments, UncheckedTypesAnswer,
};
use crate::errors::CommandError;

/// The name of the connection to the destination.
pub const TARGET: &str = "target";

/// The connection to the destination, with its name.
pub fn connection(arguments: &ToArguments) -> (String, Connection) {
    let connection = Connection {
        options: arguments.option.iter().cloned().collect(),
        ..Connection::new(&arguments.to)
    };
    (TARGET.to_owned(), connection)
}

/// Says in a flow how rows are brought into its table.
pub fn set_flow(flow: &mut Flow, arguments: &TargetArguments) {
    flow.partition_by = arguments.partition_by.as_deref().map(escape_braces);
    flow.bounds = arguments.bounds.as_deref().map(bounds).unwrap_or_default();
    flow.routing = arguments.routing.then_some(true);
    flow.mode = match arguments.mode {
        LoadMode::Create => Mode::Create,
        LoadMode::Append => Mode::Append,
        LoadMode::Replace => Mode::Replace,
    };
    flow.rejects = RejectLimit {
        rows_max: Some(arguments.max_rejects).filter(|rows| *rows > 0),
        ..RejectLimit::default()
    };
}

/// The settings of the run.
pub fn run_settings(target: &TargetArguments, run: &RunArguments) -> RunSettings {
    RunSettings {
        streams: run.streams,
        verify: target.verify.into(),
        rate_bytes_max: run.max_rate,
        server_copy: run.server_copy.map_or_else(Default::default, Into::into),
        unchecked_types: match target.unchecked_types {
            UncheckedTypesAnswer::Warn => UncheckedTypes::Warn,
            UncheckedTypesAnswer::Refuse => UncheckedTypes::Refuse,
        },
        ..RunSettings::default()
    }
}

/// The package as it is saved at `path`. Its relative paths start at the current folder here, and
/// at the package's folder in the saved file.
pub fn to_save(package: &Package, path: &Path) -> Result<Package, CommandError> {
    let current = std::env::current_dir().map_err(|source| CommandError::File {
        doing: "cannot find",
        path: PathBuf::from("."),
        source,
    })?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let is_here = folder
        .canonicalize()
        .is_ok_and(|folder| Ok(folder) == current.canonicalize().map_err(|_| ()));
    let mut package = package.clone();
    if !is_here {
        let absolute = |file: &mut String| {
            *file = current.join(&*file).to_string_lossy().into_owned();
        };
        for flow in &mut package.flows {
            match &mut flow.files {
                OneOrMany::One(file) => absolute(file),
                OneOrMany::Many(files) => files.iter_mut().for_each(absolute),
            }
        }
    }
    Ok(package)
}

/// `data`, `every 1 month`, `8 parts`, or values with commas between them.
fn bounds(text: &str) -> Bounds {
    let text = text.trim();
    if text == "data" {
        return Bounds::Word(BoundsWord::Data);
    }
    if let Some(every) = text.strip_prefix("every")
        && every.starts_with([' ', '='])
    {
        return Bounds::Every(BoundsEvery {
            every: value(every.trim_start_matches(['=', ' ']), true),
        });
    }
    if let Some(parts) = text.strip_suffix("parts")
        && let Ok(parts) = parts.trim().parse()
    {
        return Bounds::Parts(BoundsParts { parts });
    }
    let values: Vec<&str> = text.split(',').map(str::trim).collect();
    let are_numbers = values.iter().all(|value| value.parse::<i64>().is_ok());
    Bounds::List(
        values
            .into_iter()
            .map(|text| value(text, are_numbers))
            .collect(),
    )
}

fn value(text: &str, may_be_number: bool) -> BoundValue {
    match text.trim().parse() {
        Ok(number) if may_be_number => BoundValue::Integer(number),
        _ => BoundValue::Text(escape_braces(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read() {
        for (text, expected) in [
            ("data", Bounds::Word(BoundsWord::Data)),
            (
                "every 1 month",
                every(BoundValue::Text("1 month".to_owned())),
            ),
            ("every=1000", every(BoundValue::Integer(1000))),
            (
                "1992-01-01, 1993-01-01",
                texts(&["1992-01-01", "1993-01-01"]),
            ),
            ("1, b", texts(&["1", "b"])),
            ("everything, x", texts(&["everything", "x"])),
        ] {
            assert_eq!(bounds(text), expected, "{text}");
        }
    }

    fn every(every: BoundValue) -> Bounds {
        Bounds::Every(BoundsEvery { every })
    }

    fn texts(values: &[&str]) -> Bounds {
        Bounds::List(
            values
                .iter()
                .map(|text| BoundValue::Text((*text).to_owned()))
                .collect(),
        )
    }
}
