//! Reads a package from its text.

use std::path::Path;

use inrush_system::small_file::SmallFile;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Package;
use super::error::{PackageError, PackageFaultKind};
use super::place::{PackageOrigin, Place};
use super::schema_check::SchemaCheck;

/// The file of a package. A package with a thousand tables of two hundred columns each has about 12 MB.
const FILE: SmallFile = SmallFile {
    what: "a package (TOML text)",
    bytes_max: 64 << 20,
    may_be_pipe: true,
};

impl Package {
    /// Reads a package from a file.
    pub fn read(file: &Path) -> Result<Package, PackageError> {
        crate::secrets::note_shown_path(file);
        let bytes = FILE.read(file).map_err(|error| {
            PackageError::new(
                Place::of_file(file),
                PackageFaultKind::Unreadable {
                    reason: error.to_string(),
                },
            )
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            PackageError::new(
                Place::of_file(file),
                PackageFaultKind::NotUtf8 {
                    byte_offset: error.valid_up_to(),
                    byte: bytes[error.valid_up_to()],
                },
            )
        })?;
        Package::parse(text, file)
    }

    /// Reads a package from its text. `file` is where the text is from: messages name it, and
    /// relative paths start at its folder.
    pub fn parse(text: &str, file: &Path) -> Result<Package, PackageError> {
        let (mut document, mut errors) = DeTable::parse_recoverable(text);
        // The parser continues after an error, and later errors often follow from the first. A duplicate key is
        // reported last, because half a line may have caused it.
        errors.sort_by_key(|error| {
            (
                error.message() == "duplicate key",
                error.span().map(|span| span.start),
            )
        });
        if let Some(error) = errors.first() {
            return Err(PackageError::new(
                Place::in_text(file, text, error.span().unwrap_or(0..0)),
                PackageFaultKind::Syntax {
                    reason: plain(error.message()),
                },
            ));
        }
        bare_bounds_to_text(text, document.get_mut());

        let mut check = SchemaCheck::new(file, text);
        check.document(document.get_ref());
        PackageError::of(check.faults)?;

        let mut package =
            Package::deserialize(toml::Deserializer::from(document)).map_err(|error| {
                PackageError::new(
                    Place::in_text(file, text, error.span().unwrap_or(0..0)),
                    PackageFaultKind::Syntax {
                        reason: error.message().to_owned(),
                    },
                )
            })?;
        package.origin = PackageOrigin::of_file(file, text, check.places);
        package.expand_outputs()?;
        Ok(package)
    }
}

/// Translates the parser's most frequent messages into words that say what to do.
fn plain(message: &str) -> String {
    match message {
        "string values must be quoted, expected literal string" => {
            "a value is missing, or a text has no quotes"
        }
        "invalid basic string, expected `\"`" => "a double quote is not closed in its line",
        "invalid literal string, expected `'`" => "a single quote is not closed in its line",
        "duplicate key" => "the key is defined twice",
        other => other,
    }
    .to_owned()
}

/// Bounds may be TOML's dates and fractions. They are kept as text, so that the column's type decides what they mean.
fn bare_bounds_to_text(text: &str, document: &mut DeTable<'_>) {
    let Some(DeValue::Array(flows)) = document.get_mut("flow").map(Spanned::get_mut) else {
        return;
    };
    for flow in flows.iter_mut() {
        let DeValue::Table(flow) = flow.get_mut() else {
            continue;
        };
        bare_bounds_of(text, flow);
        if let Some(DeValue::Array(outputs)) = flow.get_mut("output").map(Spanned::get_mut) {
            for output in outputs.iter_mut() {
                if let DeValue::Table(output) = output.get_mut() {
                    bare_bounds_of(text, output);
                }
            }
        }
    }
}

/// Like [`bare_bounds_to_text`], for the bounds of one flow or output.
fn bare_bounds_of(text: &str, table: &mut DeTable<'_>) {
    let Some(DeValue::Array(bounds)) = table.get_mut("bounds").map(Spanned::get_mut) else {
        return;
    };
    for bound in bounds.iter_mut() {
        if matches!(bound.get_ref(), DeValue::Datetime(_) | DeValue::Float(_)) {
            let written = text[bound.span()].to_owned();
            *bound.get_mut() = DeValue::String(written.into());
        }
    }
}
