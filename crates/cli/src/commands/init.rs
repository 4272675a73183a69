//! `inrush init`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use inrush::package::{
    Flow, Overrides, Package, PackageOrigin, escape_braces, quoted_where_needed,
};
use inrush::printable::{line, one_line};
use inrush::sniff::{Guess, SniffOptions, sniff, table_name};
use inrush::{DestinationKind, ExitStatus};

use super::files;
use crate::arguments::InitArguments;
use crate::errors::CommandError;
use crate::numbers::counted;
use crate::{credentials, output, package_file, signals, target_package};

/// The number of doubtful guesses that are shown; the package has all of them.
const UNSURE_SHOWN_MAX: usize = 20;

/// The number of columns that are shown.
const COLUMNS_SHOWN_MAX: usize = 40;

/// Guesses what files hold and writes a package.
pub fn init(arguments: &InitArguments) -> Result<ExitStatus, CommandError> {
    credentials::refuse_password("--to", &arguments.to)?;
    let format = files::format(arguments.format.as_deref())?;
    let name_bytes_max = DestinationKind::name_bytes_max(&arguments.to);
    let table = match &arguments.table {
        Some(table) => table.clone(),
        None => quoted_where_needed(&table_name(&arguments.files[0], name_bytes_max)),
    };
    let path = match &arguments.save {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.clone()),
        None => Some(PathBuf::from(format!("{}.toml", file_stem(&table)))),
    };
    // Checked before the guess, which takes time.
    if let Some(path) = &path
        && !arguments.force
        && path.symlink_metadata().is_ok()
    {
        return Err(is_there(path));
    }
    let mut package = package(arguments, &table);
    package_file::ready(&package, &Overrides::default(), PathBuf::from("."))?;

    let _guard = signals::end_at_once(None);
    let files = files::resolve(&arguments.files, Path::new(""), &format, "init")?;
    let options = SniffOptions {
        format,
        everything: arguments.all,
        name_bytes_max: Some(name_bytes_max),
    };
    let guess =
        sniff(&files, &options).map_err(|error| inrush::Error::from(inrush::of_sniff(error)))?;
    package.flows[0].format = guess.format();
    package.flows[0].columns = guess.columns();
    let comments = guess.comments();
    match &path {
        None => output::document(&package.to_toml_with(&comments)),
        Some(path) => {
            let text = target_package::to_save(&package, path)?.to_toml_with(&comments);
            save(&text, path, arguments.force)?;
        }
    }
    if !arguments.quiet {
        output::errors(&summary(&guess, path.as_deref()));
    }
    Ok(ExitStatus::Clean)
}

/// The package, except for the guesses.
fn package(arguments: &InitArguments, table: &str) -> Package {
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| escape_braces(file))
        .collect();
    let flow = Flow::new(files.into(), &escape_braces(table));
    Package {
        origin: PackageOrigin::of_arguments([
            ("name", "--table"),
            ("connections.target.url", "--to"),
            ("flow[0].files", "FILES"),
            ("flow[0].table", "--table"),
        ]),
        ..Package::new(&escape_braces(&file_stem(table)), &arguments.to, vec![flow])
    }
}

/// The table's name as a file name: without its schema, and without path separators.
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
            "{} exists already, and may have been edited",
            path.display()
        ),
        hint: "choose another name with --save, or overwrite it with --force".to_owned(),
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

/// The summary that is printed.
fn summary(guess: &Guess, path: Option<&Path>) -> String {
    let mut text = line(&guess.extent());
    for seen in &guess.seen {
        text.push_str(&line(&format!("  {seen}")));
    }
    text.push_str(&format!(
        "{}\n",
        counted(guess.columns.len() as u64, "column")
    ));
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
        text.push_str(&line(&format!(
            "  {:width$}  {}{format}",
            one_line(&column.name),
            column.column_type.sql()
        )));
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
        text.push_str(&line(&format!("  - {point}")));
    }
    let hidden = unsure.len().saturating_sub(UNSURE_SHOWN_MAX);
    if hidden > 0 {
        text.push_str(&format!("  - and {hidden} more in the package\n"));
    }
    if let Some(path) = path {
        text.push_str(&format!(
            "written to {path}; next: inrush check {path}\n",
            path = one_line(&path.to_string_lossy())
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::sync::Arc;

    use inrush::source;
    use inrush_workloads::tpch::generate;

    use super::*;
    use crate::{Surroundings, main};

    fn init_of(words: &[&str]) -> u8 {
        let words = ["init", "--quiet"].iter().chain(words);
        main(words.map(OsString::from).collect(), Surroundings::default()).code()
    }

    #[test]
    fn a_package_is_written_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("sales.csv"), "id,name\n1,Ann\n2,Bob\n3,Cy\n").expect("a file");
        let (file, saved) = (at("sales.csv"), at("saved.toml"));
        let to = "postgresql://etl@dw/x";
        assert_eq!(init_of(&[&file, "--to", to, "--save", &saved]), 0);
        let text = std::fs::read_to_string(&saved).expect("it was written");
        for part in [
            "table = \"sales\"",
            "\"id integer\"",
            "header = true",
            to,
            "# no NULL in 3 rows",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        // The saved package can be read again from any folder.
        let package = Package::read(Path::new(&saved)).expect(&text);
        assert_eq!(package.flows[0].files.patterns(), [file.as_str()]);
        package.check().expect(&text);
        // The existing file may have been edited.
        std::fs::write(&saved, "name = 1").expect("it can be edited");
        assert_eq!(init_of(&[&file, "--to", to, "--save", &saved]), 2);
        assert_eq!(
            std::fs::read_to_string(&saved).expect("it is there"),
            "name = 1"
        );
        assert_eq!(
            init_of(&[&file, "--to", to, "--save", &saved, "--force", "--all"]),
            0
        );
        assert_eq!(std::fs::read_to_string(&saved).expect("it is there"), text);
    }

    #[test]
    fn mistakes_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("empty.csv"), "").expect("a file");
        let saved = at("p.toml");
        for (words, status) in [
            (vec![at("none.csv")], 1),
            (vec![at("empty.csv")], 1),
            (
                vec![at("empty.csv"), "--format".to_owned(), "cvs".to_owned()],
                2,
            ),
            (
                vec![at("empty.csv"), "--table".to_owned(), "a;b".to_owned()],
                2,
            ),
            (
                vec![
                    at("empty.csv"),
                    "--to".to_owned(),
                    "postgresql://u:p@h/d".to_owned(),
                ],
                2,
            ),
        ] {
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.extend(["--save", &saved]);
            assert_eq!(init_of(&words), status, "{words:?}");
            assert!(!Path::new(&saved).exists());
        }
    }

    #[test]
    fn types_of_tpch() {
        let folder = tempfile::tempdir().expect("a folder");
        generate(folder.path(), 0.001, 2, 2, &|_, _| ()).expect("they can be made");
        for (pattern, types) in [
            (
                "lineitem.tbl.*",
                "integer integer integer integer integer numeric(15,2) numeric(15,2) numeric(15,2) \
                 text text date date date text text text",
            ),
            (
                "orders.tbl.*",
                "integer integer text numeric(15,2) date text text integer text",
            ),
            (
                "partsupp.tbl.*",
                "integer integer integer numeric(15,2) text",
            ),
            (
                "part.tbl.*",
                "integer text text text text integer text numeric(15,2) text",
            ),
            (
                "customer.tbl.*",
                "integer text text integer text numeric(15,2) text text",
            ),
            (
                "supplier.tbl.*",
                "integer text text integer text numeric(15,2) text",
            ),
            ("nation.tbl", "integer text integer text"),
            ("region.tbl", "integer text text"),
        ] {
            let files: Vec<Arc<source::SourceFile>> =
                source::resolve(&[pattern.to_owned()], folder.path())
                    .expect(pattern)
                    .into_iter()
                    .map(Arc::new)
                    .collect();
            let guess = sniff(&files, &SniffOptions::default()).expect(pattern);
            let guessed: Vec<String> = guess
                .columns
                .iter()
                .map(|column| column.column_type.sql())
                .collect();
            assert_eq!(guessed.join(" "), types, "{pattern}");
            assert_eq!(guess.form.delimiter, b"|", "{pattern}");
            assert!(
                guess.form.trailing_delimiter && !guess.form.header,
                "{pattern}"
            );
            assert_eq!(guess.form.quote, None, "{pattern}");
            assert_eq!(guess.all_unsure(), Vec::<String>::new(), "{pattern}");
        }
    }
}
