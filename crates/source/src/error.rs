//! Errors of reading a source, each with its place and its fix. Most are about files.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush_rows::location::Location;
use inrush_scan::{DialectError, ScanError};

/// The error of an input that is not a file. `what` says what is wrong with the input.
pub fn input_error(input: &Path, what: impl Into<String>, fix: impl Into<String>) -> SourceError {
    SourceError::Input {
        input: input.to_path_buf(),
        what: what.into(),
        fix: fix.into(),
    }
}

/// The error if a source cannot provide what a package or an argument asks for. `what` says what is wrong.
pub fn unsuitable(input: &Path, what: impl Into<String>, fix: impl Into<String>) -> SourceError {
    SourceError::Unsuitable {
        input: input.to_path_buf(),
        what: what.into(),
        fix: fix.into(),
    }
}

/// Why a source could not be found or read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no pattern at all.
    #[error("no files are named; name at least one file, or a pattern that matches files")]
    NoPattern,
    /// A pattern has a syntax error.
    #[error("{pattern}: not a pattern: {reason}; write [[] for a literal bracket")]
    PatternInvalid {
        /// The pattern as the user wrote it.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A pattern matches nothing.
    #[error("{pattern}: no file matches; {hint}")]
    NoMatch {
        /// The pattern as the user wrote it.
        pattern: String,
        /// What was found instead.
        hint: String,
    },
    /// A file does not exist.
    #[error("{}: no such file; {hint}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
        /// What was found instead.
        hint: String,
    },
    /// A folder was found in place of a file.
    #[error("{}: a folder, not a file; to load the files in it write {}", path.display(), path.join("*").display())]
    Folder {
        /// The path.
        path: PathBuf,
    },
    /// A socket or device.
    #[error("{}: a {kind}, which is neither a file nor a pipe; write its data to a file first", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Standard input is a terminal.
    #[error(
        "-: standard input is a terminal; send it a file or another command's output (COMMAND | inrush ...)"
    )]
    Terminal,
    /// There is no standard input.
    #[error(
        "-: there is no standard input: it was closed before the command began (`<&-`, or a \
         service without standard input); send it a file or another command's output (COMMAND | \
         inrush ...), or name the file"
    )]
    StandardInputClosed,
    /// A second flow names the same pipe.
    #[error("{}: flow `{reader}` reads it already, and a pipe can be read only once; write its \
        data to a file first, or name it in only one flow", path.display())]
    PipeTaken {
        /// The path.
        path: PathBuf,
        /// The flow that reads it.
        reader: String,
    },
    /// A pipe would have to be read again.
    #[error("{}: a pipe can be read only once, and was read already; write its data to a file first", path.display())]
    PipeReadTwice {
        /// The path.
        path: PathBuf,
    },
    /// A stop was requested while a file was read, or while waiting for a pipe.
    #[error("{}: reading was stopped on request", path.display())]
    Stopped {
        /// The path.
        path: PathBuf,
    },
    /// A zip archive whose directory cannot be read.
    #[error("{}: the zip archive cannot be read: {reason}; it was likely not written or copied completely: make it \
             again, and test it with unzip -t", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An archive contains data that would be lost or is ambiguous.
    #[error("{}: the archive cannot be loaded completely: {what}; {fix}", path.display())]
    ArchiveContent {
        /// The archive.
        path: PathBuf,
        /// What was found.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// A member of a zip archive that cannot be read.
    #[error("{}: the member {reason}, which is not read; unzip it and load the files, or make the archive again with deflate (zip -9)", path.display())]
    Member {
        /// The archive and the member.
        path: PathBuf,
        /// Why the member cannot be read.
        reason: String,
    },
    /// A thread for reading could not be started.
    #[error("{}: no thread could be started to read it: {cause}; likely the limit of processes (ulimit -u) is reached", path.display())]
    Thread {
        /// The path.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// The cause was reported to another stream.
    #[error("{}: reading failed; another stream reported the cause", path.display())]
    FeedFailed {
        /// The path.
        path: PathBuf,
    },
    /// The ranges that were loaded do not match the input.
    #[error("{}: the range from {} to {} was loaded by an earlier run, but the input is cut at other places \
        now, because settings have changed: load it again with --again", path.display(), range.start, range.end)]
    RangesDiffer {
        /// The path.
        path: PathBuf,
        /// The range that was loaded.
        range: Range<u64>,
    },
    /// A file or folder cannot be opened.
    #[error("{}: cannot be opened: {cause}; {}", path.display(), open_mend(cause))]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// A file is named twice, so its rows would be loaded twice.
    #[error("{} and {} are one and the same file, and its rows would be loaded twice; name only one of them", first.display(), second.display())]
    LinkedTwice {
        /// The name found first.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// The dialect cannot be used.
    #[error("{}: format: {cause}", path.display())]
    Dialect {
        /// The file that it was declared for.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: DialectError,
    },
    /// The file has changed since the load was planned.
    #[error("{}: changed since the load was planned ({what}); load files only after they are \
        written completely, then run the same command again", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The system failed to read.
    #[error("{}: reading failed after {byte_offset} bytes: {cause}; the disk or the mount is likely at fault", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The number of bytes of the stored file that were read.
        byte_offset: u64,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// A compressed file ends too early.
    #[error("{}: the {format} stream ends too early, after {compressed_offset} bytes compressed ({text_offset} \
             uncompressed); the file was likely not written or copied completely: make it again, and test it with \
             {test}", path.display())]
    Truncated {
        /// The path.
        path: PathBuf,
        /// The compression.
        format: &'static str,
        /// The command that tests such a file.
        test: &'static str,
        /// The number of bytes of the stored file before the fault.
        compressed_offset: u64,
        /// The number of bytes of text before the fault.
        text_offset: u64,
    },
    /// A compressed file is damaged.
    #[error("{}: the {format} stream is damaged near byte {compressed_offset} compressed ({text_offset} uncompressed): {cause}; copy or make the file again, and test it with {test}", path.display())]
    Corrupt {
        /// The path.
        path: PathBuf,
        /// The compression.
        format: &'static str,
        /// The command that tests such a file.
        test: &'static str,
        /// The approximate number of bytes of the stored file before the fault.
        compressed_offset: u64,
        /// The number of bytes of text before the fault.
        text_offset: u64,
        /// The decompressor's message.
        #[source]
        cause: io::Error,
    },
    /// An intact compressed file needs something that is not available.
    #[error("{}: the file {what}; {fix}", path.display())]
    Undecodable {
        /// The path.
        path: PathBuf,
        /// What it needs.
        what: String,
        /// What to do.
        fix: String,
    },
    /// Other data follow the compressed data.
    #[error("{}: the gzip data end at byte {compressed_offset} compressed ({text_offset} \
        uncompressed), and {cause} follows; rows may be lost there: make or copy the file again, \
        or cut it there if the rest does not belong to it (head -c {compressed_offset})", path.display())]
    Trailing {
        /// The path.
        path: PathBuf,
        /// The number of bytes of the stored file before the other data.
        compressed_offset: u64,
        /// The number of bytes of text before them.
        text_offset: u64,
        /// The other data, in words.
        #[source]
        cause: io::Error,
    },
    /// A file of typed rows that cannot be read.
    #[error("{}: the {kind} file cannot be read: {reason}; it was likely not written or copied completely, or is not \
             a {kind} file: make it again", path.display())]
    Table {
        /// The path.
        path: PathBuf,
        /// Parquet or Arrow IPC.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A file of typed rows is of a kind that is not supported.
    #[error("{}: {what}; {mend}", path.display())]
    TableKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// The first bytes show another kind of file.
    #[error("{}: expected {expected}, but the file begins like {found}; {mend}", path.display())]
    KindMismatch {
        /// The path.
        path: PathBuf,
        /// What its name or the format declares.
        expected: &'static str,
        /// The kind by its first bytes.
        found: &'static str,
        /// What to do.
        mend: String,
    },
    /// The text looks like UTF-16, but that is not declared, and there is no mark.
    #[error("{}: the text looks like {encoding} without a byte order mark; if it is, declare it: format.encoding = \"{encoding}\"", path.display())]
    EncodingUndeclared {
        /// The path.
        path: PathBuf,
        /// The encoding.
        encoding: &'static str,
    },
    /// The byte order mark belongs to another encoding than the declared one.
    #[error("{}: format.encoding is {declared}, but the file begins with the byte order mark of \
        {found}; leave the setting out, or set it to {found}", path.display())]
    EncodingContradicted {
        /// The path.
        path: PathBuf,
        /// What the format declares.
        declared: &'static str,
        /// What the mark says.
        found: &'static str,
    },
    /// UTF-16 is declared, and neither a mark nor the text shows its byte order.
    #[error("{}: format.encoding is UTF-16, the file has no byte order mark, and no line end or \
        separator at its beginning shows the byte order; declare it: encoding = \"UTF-16LE\" or \
        \"UTF-16BE\"", path.display())]
    ByteOrderUnknown {
        /// The path.
        path: PathBuf,
    },
    /// The text does not have the declared byte order.
    #[error("{}: format.encoding is {declared}, but the line ends and separators of the file show \
        {found}; set it to {found}", path.display())]
    ByteOrderContradicted {
        /// The path.
        path: PathBuf,
        /// What the format declares.
        declared: &'static str,
        /// What the text shows.
        found: &'static str,
    },
    /// The text is in an encoding that is not supported.
    #[error("{}: the text is {encoding}, which is not read; write it again with: iconv -f {encoding} -t UTF-8", path.display())]
    EncodingUnread {
        /// The path.
        path: PathBuf,
        /// The encoding, as iconv knows it.
        encoding: &'static str,
    },
    /// The header cannot be read.
    #[error(
        "{location}: the header {what}; fix the first record, or set header = false if the file has none"
    )]
    Header {
        /// Where it begins.
        location: Location,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The header is not UTF-8.
    #[error("{location}: the header cannot be read: {what}")]
    HeaderEncoding {
        /// Where it begins.
        location: Location,
        /// The byte, the likely encoding, and the setting.
        what: String,
    },
    /// The header differs from the header of the other files.
    #[error("{}: the header has {found}, but the load was planned with {expected}", path.display())]
    HeaderDiffers {
        /// The file.
        path: PathBuf,
        /// Its header.
        found: String,
        /// The header that the load was planned with.
        expected: String,
    },
    /// A record follows a trailer.
    #[error("{location}: records follow this trailer")]
    TrailerNotLast {
        /// The trailer.
        location: Location,
    },
    /// An input that is not a file cannot be read.
    #[error("{}: {what}; {fix}", input.display())]
    Input {
        /// Its name.
        input: PathBuf,
        /// What is wrong, and the likely cause.
        what: String,
        /// What to do.
        fix: String,
    },
    /// A package or an argument asks for something that the source cannot provide, so the package or the argument must
    /// be changed.
    #[error("{}: {what}; {fix}", input.display())]
    Unsuitable {
        /// The input's name, or the name of a connection.
        input: PathBuf,
        /// What is asked for, and why the source cannot provide it.
        what: String,
        /// What to write instead.
        fix: String,
    },
    /// A scan stopped.
    #[error("{location}: {cause}")]
    Scan {
        /// The place where the faulty record begins.
        location: Location,
        /// The cause.
        #[source]
        cause: ScanError,
    },
}

impl SourceError {
    /// The error of a file that could not be read past this byte.
    pub fn read(path: &Arc<Path>, byte_offset: u64, cause: io::Error) -> SourceError {
        SourceError::Read {
            path: path.to_path_buf(),
            byte_offset,
            cause,
        }
    }
}

fn open_mend(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => {
            "give the user that runs this the right to read it (chmod), or run as another user"
        }
        io::ErrorKind::NotFound => "it existed a moment ago: is another program moving files?",
        _ => "check the disk and the mount",
    }
}
