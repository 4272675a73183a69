//! Tests every package of `sample-packages/`: the valid ones are accepted, and the invalid ones are refused with
//! exactly the message in the file beside them.
//!
//! After a change of messages: `INRUSH_BLESS=1 cargo test --workspace --lib -- sample_tests` writes them again; read
//! the diff.

use std::env::VarError;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Overrides, Package, PackageError};

fn samples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../sample-packages")
        .join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    files
}

fn environment(name: &str) -> Result<String, VarError> {
    match name {
        "WAREHOUSE_URL" => Ok("postgresql://etl:secret@dw/tpch".to_owned()),
        _ => Err(VarError::NotPresent),
    }
}

/// Everything that happens to a package before a database is asked.
fn take(file: &Path) -> Result<Package, PackageError> {
    let text = fs::read_to_string(file).expect("a sample is text");
    // The message names the file without its folder, so that it is the same everywhere.
    let name = Path::new(file.file_name().expect("a file has a name"));
    let package = Package::parse(&text, name)?.resolve(&Overrides::default(), &environment)?;
    package.check()?;
    Ok(package)
}

#[test]
fn valid_packages_are_taken() {
    let files = samples("valid");
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let package = take(&file).unwrap_or_else(|error| panic!("{}:\n{error}", file.display()));
        let written = package.to_toml();
        let read = Package::parse(&written, &file).expect(&written);
        assert_eq!(read.flows.len(), package.flows.len(), "{written}");
    }
}

#[test]
fn invalid_packages_are_refused_with_their_message() {
    let files = samples("invalid");
    assert!(files.len() >= 25, "only {} samples", files.len());
    let bless = std::env::var_os("INRUSH_BLESS").is_some();
    let mut wrong = Vec::new();
    for file in files {
        let message = match take(&file) {
            Ok(_) => panic!("{} is taken", file.display()),
            Err(error) => format!("{error}\n"),
        };
        let beside = file.with_extension("txt");
        if bless {
            fs::write(&beside, &message).expect("a message can be written");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if message != expected {
            wrong.push(format!(
                "{}\n--- expected\n{expected}--- message\n{message}",
                beside.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
