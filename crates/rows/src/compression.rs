//! The ways in which a file may be compressed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// No compression.
    None,
    /// gzip, of one or more members.
    Gzip,
    /// Zstandard, of one or more frames.
    Zstd,
    /// bzip2, of one or more streams.
    Bzip2,
    /// xz, of one or more streams.
    Xz,
    /// A zip archive: each file in it is a separate source file.
    Zip,
}

impl Compression {
    /// The compression by the file's extension; part numbers after it are ignored.
    pub fn of_file(file_name: &str) -> Compression {
        let mut name = file_name;
        while let Some((before, extension)) = name.rsplit_once('.') {
            match extension.to_ascii_lowercase().as_str() {
                "gz" | "gzip" | "tgz" | "taz" => return Compression::Gzip,
                "zst" | "zstd" | "tzst" => return Compression::Zstd,
                "bz2" | "bzip2" | "tbz" | "tbz2" => return Compression::Bzip2,
                "xz" | "txz" => return Compression::Xz,
                "zip" => return Compression::Zip,
                part if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) => {}
                _ => return Compression::None,
            }
            name = before;
        }
        Compression::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_told_by_names() {
        for (name, compression) in [
            ("a.csv", Compression::None),
            ("a.csv.gz", Compression::Gzip),
            ("a.csv.ZST.3", Compression::Zstd),
            ("gz", Compression::None),
            ("a.gz/b", Compression::None),
        ] {
            assert_eq!(Compression::of_file(name), compression, "{name}");
        }
    }
}
