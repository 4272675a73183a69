//! Zip archives: each member that is a file is a separate source file.
//!
//! The `zip` crate reads the directory at the archive's end. A member's bytes are read here, at the position that the
//! directory gives, by the same decompressors as other files. An archive that contains more than its directory lists is
//! refused ([`layout`]).

mod layout;

use std::fs::{File, Metadata};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use inrush_rows::plural::counted;
use inrush_source::SourceError;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::file_state::modified_ns;

/// How a member is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberMethod {
    /// Not compressed.
    Stored,
    /// Deflate, as in gzip.
    Deflate,
    /// bzip2.
    Bzip2,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
}

/// A file in a zip archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipMember {
    /// The archive.
    pub archive: PathBuf,
    /// The size of the archive in bytes.
    pub archive_bytes: u64,
    /// When the archive was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The member's name in it.
    pub name: String,
    /// The checksum of its text, as the archive has it.
    pub crc32: u32,
    /// The size of its text in bytes.
    pub text_bytes: u64,
    /// Its stored size in bytes.
    pub stored_bytes: u64,
    /// The position of its stored bytes in the archive.
    pub(super) data_start: u64,
    /// How it is compressed, or why it cannot be read.
    pub(super) method: Result<MemberMethod, String>,
}

impl ZipMember {
    /// The path in messages.
    pub(super) fn path(&self) -> PathBuf {
        // Not `Path::join`: a name that begins with a slash would replace the archive's path.
        let mut path = self.archive.clone().into_os_string();
        path.push("/");
        path.push(&self.name);
        PathBuf::from(path)
    }
}

/// True if this is the name of a zip archive.
pub(super) fn is_archive_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() > 4 && bytes[bytes.len() - 4..].eq_ignore_ascii_case(b".zip")
}

/// The files in an archive, in the order of its directory. Folders are skipped, and so are files that macOS and Windows
/// add for themselves.
pub(super) fn members(path: &Path, metadata: &Metadata) -> Result<Vec<ZipMember>, SourceError> {
    let file = File::open(path).map_err(|cause| SourceError::Unreadable {
        path: path.to_path_buf(),
        cause,
    })?;
    let refused = |error: ZipError| match error {
        ZipError::Io(cause) if cause.raw_os_error().is_some() => SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        },
        other if other.to_string().contains("Multi-disk") => SourceError::ArchiveContent {
            path: path.to_path_buf(),
            what: "it is one part of a split archive, and its members are in the other parts, too"
                .to_owned(),
            fix: "join the parts with zip -s 0 FIRST.zip --out WHOLE.zip and load that",
        },
        other => archive_error(path, other.to_string()),
    };
    let mut archive = ZipArchive::new(BufReader::new(&file)).map_err(refused)?;
    if archive.has_duplicate_names() {
        return Err(SourceError::ArchiveContent {
            path: path.to_path_buf(),
            what: "two of its members have the same name".to_owned(),
            fix: "make the archive again with a different name for each file: unzip would overwrite one with the other",
        });
    }
    let mut listed = Vec::with_capacity(archive.len());
    let mut members = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(refused)?;
        let name = entry.name().map_err(refused)?.into_owned();
        let data_start = entry
            .data_start()
            .expect("a member that was looked up has a place");
        listed.push(layout::Listed {
            name: name.clone(),
            header_start: entry.header_start(),
            data_start,
            stored_bytes: entry.compressed_size(),
            text_bytes: entry.size(),
            crc32: entry.crc32(),
            listed_at: entry.central_header_start(),
        });
        if entry.is_dir() && entry.size() > 0 {
            return Err(SourceError::ArchiveContent {
                path: path.to_path_buf(),
                what: format!(
                    "its member `{name}` has the name of a folder, but holds {}",
                    counted(entry.size(), "byte")
                ),
                fix: "make the archive again",
            });
        }
        if entry.is_dir() || is_litter(&name) {
            continue;
        }
        let method = if entry.encrypted() {
            Err("is encrypted".to_owned())
        } else if entry.is_symlink() {
            Err("is a link and holds no text of its own".to_owned())
        } else {
            method(entry.compression())
        };
        members.push(ZipMember {
            archive: path.to_path_buf(),
            archive_bytes: metadata.len(),
            modified_ns: modified_ns(metadata),
            name,
            crc32: entry.crc32(),
            text_bytes: entry.size(),
            stored_bytes: entry.compressed_size(),
            data_start,
            method,
        });
    }
    let directory_start = archive.central_directory_start();
    let accounted = layout::account(&file, metadata.len(), directory_start, &mut listed);
    let accounted = accounted.map_err(|cause| match cause.kind() {
        // The archive itself gives a position after its end.
        ErrorKind::UnexpectedEof => {
            archive_error(path, "it ends earlier than its directory says".to_owned())
        }
        _ => SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        },
    })?;
    accounted.map_err(
        |layout::Unlisted { what, fix }| SourceError::ArchiveContent {
            path: path.to_path_buf(),
            what,
            fix,
        },
    )?;
    Ok(members)
}

/// The members that a pattern names, or all members if there is no pattern. A named member that cannot be read is
/// refused.
pub(super) fn select(
    path: &Path,
    metadata: &Metadata,
    pattern: Option<&str>,
) -> Result<Vec<Arc<ZipMember>>, SourceError> {
    let mut members = members(path, metadata)?;
    if let Some(pattern) = pattern
        && !members.iter().any(|member| member.name == pattern)
    {
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let glob = Pattern::new(pattern).map_err(|error| SourceError::PatternInvalid {
            pattern: format!("{}/{pattern}", path.display()),
            reason: error.msg.to_owned(),
        })?;
        let options = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        members.retain(|member| glob.matches_with(&member.name, options));
        if members.is_empty() {
            return Err(SourceError::NoMatch {
                pattern: format!("{}/{pattern}", path.display()),
                hint: match names.as_slice() {
                    [] => "the archive has no files".to_owned(),
                    names => format!("the archive has {}", shortened(names)),
                },
            });
        }
    } else if let Some(pattern) = pattern {
        // A name may contain `[` or `?` itself.
        members.retain(|member| member.name == pattern);
    }
    if members.is_empty() {
        return Err(SourceError::NoMatch {
            pattern: path.display().to_string(),
            hint: "the archive has no files".to_owned(),
        });
    }
    for member in &members {
        if let Err(reason) = &member.method {
            return Err(SourceError::Member {
                path: member.path(),
                reason: reason.clone(),
            });
        }
    }
    Ok(members.into_iter().map(Arc::new).collect())
}

fn archive_error(path: &Path, reason: String) -> SourceError {
    SourceError::Archive {
        path: path.to_path_buf(),
        reason,
    }
}

/// True for files that a user does not mean by the name of an archive.
fn is_litter(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("__MACOSX/") || matches!(last, ".DS_Store" | "Thumbs.db" | "desktop.ini" | "")
}

fn method(method: CompressionMethod) -> Result<MemberMethod, String> {
    match method {
        CompressionMethod::STORE => Ok(MemberMethod::Stored),
        CompressionMethod::DEFLATE => Ok(MemberMethod::Deflate),
        CompressionMethod::BZIP2 => Ok(MemberMethod::Bzip2),
        CompressionMethod::ZSTD => Ok(MemberMethod::Zstd),
        CompressionMethod::XZ => Ok(MemberMethod::Xz),
        CompressionMethod::DEFLATE64 => Err("is compressed by Deflate64".to_owned()),
        CompressionMethod::LZMA => Err("is compressed by LZMA".to_owned()),
        CompressionMethod::PPMD => Err("is compressed by PPMd".to_owned()),
        other => Err(format!("is compressed by a rare method ({other})")),
    }
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
