//! `inrush load` turned into a package.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inrush::package::{
    BoundValue, Bounds, BoundsEvery, BoundsParts, BoundsWord, ColumnSpec, Connection, Flow, Mode,
    OneOrMany, Package, PackageOrigin, RejectLimit, RunSettings, UncheckedTypes, escape_braces,
    split_columns,
};

use crate::arguments::{LoadArguments, LoadMode, UncheckedTypesAnswer, parse_format};
use crate::errors::CommandError;

/// The name of the only connection.
const CONNECTION: &str = "target";

/// The package with the settings of the arguments, not yet resolved or checked.
pub fn package_of(arguments: &LoadArguments) -> Result<Package, CommandError> {
    let format = match &arguments.format {
        Some(text) => parse_format(text).map_err(|what| CommandError::Usage {
            what: format!("--format: {what}"),
            hint: "write a preset and the settings that differ from it: csv,delimiter=;,no_header"
                .to_owned(),
        })?,
        None => Default::default(),
    };
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| escape_braces(file))
        .collect();
    let flow = Flow {
        format,
        columns: match &arguments.columns {
            Some(text) => split_columns(text)
                .iter()
                .map(|column| ColumnSpec::Short(escape_braces(column)))
                .collect(),
            None => Vec::new(),
        },
        partition_by: arguments.partition_by.as_deref().map(escape_braces),
        bounds: arguments.bounds.as_deref().map(bounds).unwrap_or_default(),
        routing: arguments.routing.then_some(true),
        mode: match arguments.mode {
            LoadMode::Create => Mode::Create,
            LoadMode::Append => Mode::Append,
            LoadMode::Replace => Mode::Replace,
        },
        rejects: RejectLimit {
            rows_max: Some(arguments.max_rejects).filter(|rows| *rows > 0),
            ..RejectLimit::default()
        },
        ..Flow::new(files.into(), &escape_braces(&arguments.table))
    };
    Ok(Package {
        // A stopped run is found in the ledger by this name and the target.
        name: format!("load_{}", escape_braces(&arguments.table)),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([(
            CONNECTION.to_owned(),
            Connection {
                options: arguments.option.iter().cloned().collect(),
                ..Connection::new(&arguments.to)
            },
        )]),
        run: RunSettings {
            streams: arguments.run.streams,
            verify: arguments.verify.into(),
            rate_bytes_max: arguments.run.max_rate,
            server_copy: arguments
                .run
                .server_copy
                .map_or_else(Default::default, Into::into),
            unchecked_types: match arguments.unchecked_types {
                UncheckedTypesAnswer::Warn => UncheckedTypes::Warn,
                UncheckedTypesAnswer::Refuse => UncheckedTypes::Refuse,
            },
            ..RunSettings::default()
        },
        flows: vec![flow],
        origin: PackageOrigin::of_arguments([
            ("name", "--table"),
            ("connections.target.url", "--to"),
            ("run.streams", "--streams"),
            ("run.verify", "--verify"),
            ("run.unchecked_types", "--unchecked-types"),
            ("flow[0].files", "FILES"),
            ("flow[0].format", "--format"),
            ("flow[0].columns", "--columns"),
            ("flow[0].table", "--table"),
            ("flow[0].partition_by", "--partition-by"),
            ("flow[0].bounds", "--bounds"),
            ("flow[0].routing", "--routing"),
            ("flow[0].rejects", "--max-rejects"),
        ]),
    })
}

/// The package as it is saved at `path`: relative paths start at the package's folder there,
/// and at the current folder here.
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
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn package(words: &[&str]) -> Result<Package, CommandError> {
        let words = ["inrush", "load"].iter().chain(words);
        match Arguments::try_parse_from(words)
            .expect("they are right")
            .command
        {
            Command::Load(arguments) => package_of(&arguments),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_become_a_package() {
        let package = package(&[
            "a{1}.csv",
            "b.csv",
            "--to",
            "postgresql://etl@dw/x",
            "--table",
            "s.\"T t\"",
            "--columns",
            "id int not null, \"a,b\" numeric(3,1)",
            "--partition-by",
            "id",
            "--bounds",
            "1, 10,100",
            "--mode",
            "append",
            "--streams",
            "3",
            "--max-rejects",
            "7",
            "--format",
            "csv,delimiter=;",
        ])
        .expect("it is right");
        let resolved = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .expect("it is right");
        resolved.check().expect("it is right");
        let flow = &resolved.flows[0];
        assert_eq!(flow.files.patterns(), ["a{1}.csv", "b.csv"]);
        assert_eq!(flow.columns.len(), 2);
        assert_eq!(
            flow.bounds,
            Bounds::List([1, 10, 100].map(BoundValue::Integer).to_vec())
        );
        assert_eq!((flow.mode, flow.rejects.rows_max), (Mode::Append, Some(7)));
        assert_eq!(resolved.run.streams, Some(3));
        // The saved package has the same settings.
        let written = package.to_toml();
        let read = Package::parse(&written, Path::new("p.toml")).expect(&written);
        assert_eq!(read, package);
    }

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

    #[test]
    fn mistakes_name_their_argument() {
        let package = package(&[
            "a.csv",
            "--to",
            "mysql://dw/x",
            "--table",
            "a;b",
            "--columns",
            "id int; drop",
            "--partition-by",
            "id",
            "--bounds",
            "3,2",
        ])
        .expect("that is found later");
        let error = package
            .resolve(&Default::default(), &|_| {
                Err(std::env::VarError::NotPresent)
            })
            .and_then(|package| package.check())
            .expect_err("nothing is right")
            .to_string();
        for argument in ["--to: ", "--table: ", "--columns: ", "--bounds: "] {
            assert!(error.contains(argument), "{argument} is not in {error}");
        }
    }
}
