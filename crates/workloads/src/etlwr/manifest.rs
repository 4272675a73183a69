//! The manifest of a folder: the scale of its files, and the number of their parts.

use std::io::Write;
use std::path::{Path, PathBuf};

use inrush_system::small_file::SmallFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::WorkloadError;
use crate::tpch;

const FILE: SmallFile = SmallFile {
    what: "the description of these files (JSON)",
    bytes_max: 1 << 20,
    may_be_pipe: false,
};

/// The name of the file with the scale and parts of a folder's files.
pub const MANIFEST: &str = "etlwr.json";

/// The folder of a tenth of the data, in the folder of all of it.
const TEN_PERCENT_FOLDER: &str = "ten-percent";

/// The scale of a folder's files, and the number of their parts. It is the same for each part, so that folders of
/// several machines can be recognized as parts of one data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The scale factor that dbgen was given.
    pub scale: f64,
    /// The parts of each large table.
    pub parts: u32,
    /// The files are a tenth of the data of ten times this scale.
    #[serde(default)]
    pub ten_percent: bool,
}

impl Manifest {
    /// The manifest in words.
    pub fn describe(&self) -> String {
        format!(
            "TPC-H at scale {} in {} part{}{}",
            self.scale,
            self.parts,
            if self.parts == 1 { "" } else { "s" },
            match self.ten_percent {
                true => format!(" (a tenth of scale {})", self.scale_of_whole()),
                false => String::new(),
            }
        )
    }

    /// The scale that a user gives for these files; with `--ten-percent`, this is the scale of the whole data.
    pub fn scale_of_whole(&self) -> f64 {
        match self.ten_percent {
            true => shifted(self.scale, 1),
            false => self.scale,
        }
    }

    /// The scale of these files, in words.
    pub(super) fn words(&self) -> String {
        format!("--scale {} --parts {}", self.scale_of_whole(), self.parts)
    }

    /// The manifest of a folder, if it has one.
    pub fn read(folder: &Path) -> Result<Option<Manifest>, WorkloadError> {
        let path = folder.join(MANIFEST);
        let text = match FILE.read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(WorkloadError::File {
                    doing: "cannot read",
                    path,
                    source,
                });
            }
        };
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| WorkloadError::Usage {
                what: format!("{}: {error}", path.display()),
                hint: "it declares the scale of the files beside it: {\"scale\": 1, \"parts\": 4}"
                    .to_owned(),
            })?;
        tpch::scale_is_known(manifest.scale).map_err(WorkloadError::Generate)?;
        if manifest.parts == 0 || manifest.parts > 10_000 {
            return Err(WorkloadError::Usage {
                what: format!("{}: {} parts", path.display(), manifest.parts),
                hint: "there can be 1 to 10000".to_owned(),
            });
        }
        Ok(Some(manifest))
    }

    /// Writes it completely or not at all, because another machine may read the folder.
    pub fn write(&self, folder: &Path) -> Result<(), WorkloadError> {
        let path = folder.join(MANIFEST);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            let text = serde_json::to_string(self).map_err(std::io::Error::other)?;
            writeln!(file, "{text}")?;
            readable_as_others(file.as_file())?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| WorkloadError::File {
            doing: "cannot write",
            path: path.clone(),
            source,
        })
    }
}

/// A tenth of a scale.
pub fn tenth(scale: f64) -> f64 {
    shifted(scale, -1)
}

/// The number with its decimal point moved. A division would not be exact: 0.7 / 10.0 is 0.06999999999999999, and dbgen
/// makes one supplier less for this scale than for 0.07.
fn shifted(number: f64, digits: i32) -> f64 {
    let moved = || {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent = exponent.parse::<i32>().ok()? + digits;
        format!("{mantissa}e{exponent}").parse().ok()
    };
    // Infinities and NaN have no digits.
    moved().unwrap_or(number)
}

/// Gives the file the usual mode: a temporary file is readable only by its owner.
fn readable_as_others(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// The folder to use, which may be the folder of a tenth of the data.
pub fn folder_of(folder: &Path, ten_percent: bool) -> PathBuf {
    match ten_percent {
        true => folder.join(TEN_PERCENT_FOLDER),
        false => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_as_it_would_be_written() {
        for (whole, part) in [
            (0.7, 0.07),
            (1000.0, 100.0),
            (0.1, 0.01),
            (3.3, 0.33),
            (1e-5, 1e-6),
            (0.123456789, 0.0123456789),
        ] {
            assert_eq!(tenth(whole), part);
            let manifest = Manifest {
                scale: part,
                parts: 2,
                ten_percent: true,
            };
            assert_eq!(manifest.scale_of_whole(), whole);
        }
        assert!(tenth(f64::NAN).is_nan());
        assert_eq!(tenth(f64::INFINITY), f64::INFINITY);
        assert_eq!(tenth(-1.0), -0.1);
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = |parts| Manifest {
            scale: 0.5,
            parts,
            ten_percent: false,
        };
        let folder = tempfile::tempdir().unwrap();
        manifest(7).write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest(7)));
        assert_eq!(manifest(1).describe(), "TPC-H at scale 0.5 in 1 part");
    }
}
