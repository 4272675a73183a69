//! The first stages: the facts that are known before any row is read, and the lines that are skipped.

use std::path::PathBuf;
use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_package::{Format, Preset};
use inrush_scan::Dialect;

use super::choose_form::{self, FormChoice};
use super::error::SniffError;
use super::sample::Samples;
use super::{is_declared, mapping, titles};

/// The facts from the files' names and the declared format.
pub(super) struct Known {
    /// True if the format is declared, and nothing of it is guessed.
    pub is_declared: bool,
    /// True if lines that are not rows may be found and skipped, because nothing is declared about them.
    pub may_skip: bool,
    /// The first file.
    pub path: PathBuf,
    pub file_count: usize,
    preset: Option<Preset>,
    dialect: Dialect,
}

impl Known {
    pub fn of(files: &[Arc<SourceFile>], format: &Format) -> Result<Known, SniffError> {
        let name = files
            .first()
            .map(|file| file.path.to_string_lossy().into_owned())
            .unwrap_or_default();
        let is_declared = is_declared(format);
        Ok(Known {
            is_declared,
            may_skip: !is_declared && format.skip_lines.is_none(),
            file_count: files.len(),
            preset: Preset::of_file(&name),
            dialect: format.dialect(&name)?,
            path: PathBuf::from(name),
        })
    }

    /// True if files with these names usually have a header.
    pub fn usual_header(&self) -> Option<bool> {
        self.preset.map(|preset| preset.dialect().header)
    }

    /// The form of the records: the declared one, or the one that cuts them best.
    pub fn choice(&self, below: &BelowSkipped) -> FormChoice {
        match self.is_declared {
            true => choose_form::declared(&below.samples, mapping::form_of(&self.dialect)),
            false => choose_form::choose(&below.samples, self.preset, below.separator),
        }
    }
}

/// The samples after the skipped lines.
pub(super) struct BelowSkipped {
    pub samples: Samples,
    /// The number of skipped lines in each file.
    pub skip_lines: u32,
    /// The delimiter that the first line names, whether that line is skipped or not.
    pub separator: Option<u8>,
    /// Observations about the lines, for the package's comments.
    pub seen: Vec<String>,
}

impl BelowSkipped {
    /// Skips the lines that are declared as not part of the table, and a line that names the delimiter.
    pub fn of(samples: Samples, known: &Known) -> BelowSkipped {
        let skip_lines = known.dialect.skip_lines;
        let samples = match skip_lines {
            0 => samples,
            _ => samples.without_lines(skip_lines, &known.dialect),
        };
        let separator = titles::separator(&samples);
        let below_declared = BelowSkipped {
            samples,
            skip_lines,
            separator,
            seen: Vec::new(),
        };
        match separator.filter(|_| known.may_skip) {
            Some(delimiter) => below_declared.below_separator(delimiter),
            None => below_declared,
        }
    }

    fn below_separator(self, delimiter: u8) -> BelowSkipped {
        let (samples, seen) = titles::without_separator(&self.samples, delimiter);
        BelowSkipped {
            samples,
            skip_lines: 1,
            seen: vec![seen],
            ..self
        }
    }
}
