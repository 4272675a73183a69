//! `inrush init`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush::package::{
    Bounds, Connection, Flow, Mode, OneOrMany, Origin, Overrides, Package, RejectLimit,
    RunSettings, escape_braces, quoted_where_needed,
};
use inrush::sniff::{Guess, SniffOptions, sniff, table_name};
use inrush::source::{self, ResolveOptions};

use crate::arguments::{InitArguments, parse_format};
use crate::errors::CommandError;
use crate::{credentials, load_package, output, package_file, signals};

/// Points that are shown; the package has all of them.
const UNSURE_SHOWN_MAX: usize = 20;

/// Columns that are shown.
const COLUMNS_SHOWN_MAX: usize = 40;

/// Guesses what files hold and writes a package.
pub fn init(arguments: &InitArguments) -> Result<u8, CommandError> {
    credentials::refuse_password("--to", &arguments.to)?;
    let format = match &arguments.format {
        Some(text) => parse_format(text).map_err(|what| CommandError::Usage {
            what: format!("--format: {what}"),
            hint: "leave it out, and it is guessed".to_owned(),
        })?,
        None => Default::default(),
    };
    let table = match &arguments.table {
        Some(table) => table.clone(),
        None => quoted_where_needed(&table_name(&arguments.files[0])),
    };
    let path = match &arguments.save {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.clone()),
        None => Some(PathBuf::from(format!("{}.toml", file_stem(&table)))),
    };
    // Nobody waits for a guess that cannot be written.
    if let Some(path) = &path
        && !arguments.force
        && path.symlink_metadata().is_ok()
    {
        return Err(is_there(path));
    }
    let mut package = package(arguments, &table);
    package_file::ready(&package, &Overrides::default(), PathBuf::from("."))?;

    let _guard = signals::end_at_once(None);
    let encoding = format
        .text_encoding()
        .map_err(|error| inrush::Error::from(inrush::plan::PlanError::from(error)))?;
    let resolving = ResolveOptions {
        compression: format.compression,
        encoding,
        reader: "init",
        ..ResolveOptions::default()
    };
    let files: Vec<Arc<source::SourceFile>> =
        source::resolve_as(&arguments.files, Path::new(""), &resolving)
            .map_err(inrush::Error::from)?
            .into_iter()
            .map(Arc::new)
            .collect();
    let options = SniffOptions {
        format,
        everything: arguments.all,
    };
    let guess = sniff(&files, &options)
        .map_err(|error| inrush::Error::from(inrush::plan::PlanError::from(error)))?;
    package.flows[0].format = guess.format();
    package.flows[0].columns = guess.columns();
    let comments = guess.comments();
    match &path {
        None => output::say(&package.to_toml_with(&comments)),
        Some(path) => {
            let text = load_package::to_save(&package, path)?.to_toml_with(&comments);
            save(&text, path, arguments.force)?;
        }
    }
    if !arguments.quiet {
        output::errors(&summary(&guess, path.as_deref()));
    }
    Ok(0)
}

/// The package, but for what is guessed.
fn package(arguments: &InitArguments, table: &str) -> Package {
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| escape_braces(file))
        .collect();
    Package {
        name: escape_braces(&file_stem(table)),
        parameters: BTreeMap::new(),
        connections: BTreeMap::from([("target".to_owned(), Connection::new(&arguments.to))]),
        run: RunSettings::default(),
        flows: vec![Flow {
            name: None,
            connection: None,
            files: match <[String; 1]>::try_from(files) {
                Ok([only]) => OneOrMany::One(only),
                Err(files) => OneOrMany::Many(files),
            },
            format: Default::default(),
            columns: Vec::new(),
            table: escape_braces(table),
            partition_by: None,
            bounds: Bounds::default(),
            mode: Mode::Create,
            rejects: RejectLimit::default(),
        }],
        origin: Origin::of_arguments([
            ("name", "--table"),
            ("connections.target.url", "--to"),
            ("flow[0].files", "FILES"),
            ("flow[0].table", "--table"),
        ]),
    }
}

/// The table's name as a file's: without its schema, and with nothing that leads elsewhere.
fn file_stem(table: &str) -> String {
    let name = table.rsplit('.').next().unwrap_or(table);
    let stem: String = name
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .collect();
    match stem.is_empty() {
        true => "package".to_owned(),
        false => stem,
    }
}

fn is_there(path: &Path) -> CommandError {
    CommandError::Usage {
        what: format!(
            "{} is there already, and may have been edited",
            path.display()
        ),
        hint: "choose another name with --save, or write over it with --force".to_owned(),
    }
}

fn save(text: &str, path: &Path, force: bool) -> Result<(), CommandError> {
    let write = || match force {
        true => std::fs::write(path, text),
        false => {
            let mut file = std::fs::File::create_new(path)?;
            std::io::Write::write_all(&mut file, text.as_bytes())
        }
    };
    write().map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => is_there(path),
        _ => CommandError::File {
            doing: "cannot write",
            path: path.to_owned(),
            source,
        },
    })
}

/// What a person should see at once.
fn summary(guess: &Guess, path: Option<&Path>) -> String {
    let mut text = format!("{}\n", guess.extent());
    for seen in &guess.seen {
        text.push_str(&format!("  {seen}\n"));
    }
    text.push_str(&format!("{} columns\n", guess.columns.len()));
    let width = guess
        .columns
        .iter()
        .map(|column| column.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(30);
    for column in guess.columns.iter().take(COLUMNS_SHOWN_MAX) {
        let format = column
            .column_type
            .format()
            .map_or(String::new(), |format| format!(" ({format})"));
        text.push_str(&format!(
            "  {:width$}  {}{format}\n",
            column.name,
            column.column_type.sql()
        ));
    }
    let hidden = guess.columns.len().saturating_sub(COLUMNS_SHOWN_MAX);
    if hidden > 0 {
        text.push_str(&format!("  and {hidden} more\n"));
    }
    let unsure = guess.all_unsure();
    if unsure.is_empty() {
        text.push_str("nothing is unsure\n");
    } else {
        text.push_str("unsure:\n");
    }
    for point in unsure.iter().take(UNSURE_SHOWN_MAX) {
        text.push_str(&format!("  - {point}\n"));
    }
    let hidden = unsure.len().saturating_sub(UNSURE_SHOWN_MAX);
    if hidden > 0 {
        text.push_str(&format!("  - and {hidden} points more, in the package\n"));
    }
    if let Some(path) = path {
        text.push_str(&format!(
            "written to {path}; next: inrush check {path}\n",
            path = path.display()
        ));
    }
    text
}
