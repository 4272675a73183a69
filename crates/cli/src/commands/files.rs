//! The files that `init` and `verify` read without a package, and messages about their format.

use std::path::Path;
use std::sync::Arc;

use inrush::package::{Format, not_local};
use inrush::plan::PlanError;
use inrush::source::{self, ResolveOptions, SourceFile};

use crate::arguments::parse_format;
use crate::errors::CommandError;

/// The format that `--format` declares; settings that it leaves out are guessed.
pub fn format(text: Option<&str>) -> Result<Format, CommandError> {
    match text {
        Some(text) => parse_format(text).map_err(|what| CommandError::Usage {
            what: format!("--format: {what}"),
            hint: "leave it out to have it guessed".to_owned(),
        }),
        None => Ok(Format::default()),
    }
}

/// The files that match the patterns; relative patterns start at `folder`. `reader` names the command or the flow that
/// reads them.
pub fn resolve(
    patterns: &[String],
    folder: &Path,
    format: &Format,
    reader: &str,
) -> Result<Vec<Arc<SourceFile>>, CommandError> {
    if let Some((what, hint)) = patterns.iter().find_map(|pattern| not_local(pattern)) {
        return Err(CommandError::Usage { what, hint });
    }
    let encoding = format
        .text_encoding()
        .map_err(|error| inrush::Error::from(PlanError::from(error)))?;
    let resolving = ResolveOptions {
        compression: format.compression,
        encoding,
        reader,
        ..ResolveOptions::default()
    };
    let files = source::resolve_as(patterns, folder, &resolving).map_err(inrush::Error::from)?;
    Ok(files.into_iter().map(Arc::new).collect())
}
