//! Reads files that should be small: packages, reports, certificates. By mistake or malice a path may name a huge file
//! or an endless device, so each kind of file has a size limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// A kind of small file.
#[derive(Clone, Copy, Debug)]
pub struct SmallFile {
    /// The kind with its article, for messages: `a package (TOML)`.
    pub what: &'static str,
    /// The largest size in bytes.
    pub bytes_max: u64,
    /// True if the path may be a pipe, such as `<(...)` of a shell.
    pub may_be_pipe: bool,
}

impl SmallFile {
    /// Returns the file's bytes. If the file is too large, or is neither a regular file nor an allowed pipe, it is not
    /// read, and an error is returned.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = path.metadata()?;
        let is_pipe = found.file_type().is_fifo() || found.file_type().is_socket();
        if !(found.is_file() || (is_pipe && self.may_be_pipe)) {
            return Err(self.refused(&format!("it is {}", describe(found.file_type()))));
        }
        let file = match is_pipe {
            true => File::open(path)?,
            // If the path has become a pipe meanwhile, this does not wait for its writer.
            false => OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(path)?,
        };
        let opened = file.metadata()?;
        if !is_pipe && !opened.is_file() {
            return Err(self.refused(&format!("it is {}", describe(opened.file_type()))));
        }
        if opened.is_file() && opened.len() > self.bytes_max {
            return Err(self.refused(&format!("it has {} bytes", opened.len())));
        }
        let mut bytes = Vec::new();
        // The size of a pipe, or of a file that grows, is known only at its end.
        file.take(self.bytes_max + 1).read_to_end(&mut bytes)?;
        match u64::try_from(bytes.len()).is_ok_and(|read| read <= self.bytes_max) {
            true => Ok(bytes),
            false => Err(self.refused(&format!("it has more than {} bytes", self.bytes_max))),
        }
    }

    /// Like [`read`](SmallFile::read), for a file of UTF-8 text.
    pub fn read_text(&self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[at];
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it is not UTF-8 text: byte {at} is {byte:#04x}"),
            )
        })
    }

    fn refused(&self, found: &str) -> io::Error {
        io::Error::other(format!(
            "{found}, and {} is a file of at most {} bytes",
            self.what, self.bytes_max
        ))
    }
}

fn describe(kind: std::fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: SmallFile = SmallFile {
        what: "a note",
        bytes_max: 4,
        may_be_pipe: false,
    };

    fn refusal(file: SmallFile, path: &Path) -> String {
        file.read(path).expect_err("refused").to_string()
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let path = std::env::temp_dir().join(format!("inrush-small-{}", std::process::id()));
        std::fs::write(&path, "abcd").expect("written");
        assert_eq!(NOTE.read_text(&path).expect("it fits"), "abcd");
        File::create(&path)
            .and_then(|file| file.set_len(1 << 40))
            .expect("a sparse file");
        assert_eq!(
            refusal(NOTE, &path),
            "it has 1099511627776 bytes, and a note is a file of at most 4 bytes"
        );
        std::fs::write(&path, b"a\xff").expect("written");
        let error = NOTE.read_text(&path).expect_err("no text").to_string();
        assert_eq!(error, "it is not UTF-8 text: byte 1 is 0xff");
        std::fs::remove_file(&path).expect("removed");
        // The system reports the size of a file in `/proc` as 0.
        let error = refusal(NOTE, Path::new("/proc/self/status"));
        assert!(error.starts_with("it has more than 4 bytes"), "{error}");
    }

    #[test]
    fn devices_and_folders_are_refused() {
        for may_be_pipe in [false, true] {
            let file = SmallFile {
                may_be_pipe,
                ..NOTE
            };
            let error = refusal(file, Path::new("/dev/zero"));
            assert_eq!(
                error,
                "it is a device, and a note is a file of at most 4 bytes"
            );
            let error = refusal(file, Path::new("/"));
            assert_eq!(
                error,
                "it is a folder, and a note is a file of at most 4 bytes"
            );
        }
    }

    #[test]
    fn a_pipe_is_read_where_it_is_allowed_up_to_the_limit() {
        for (text, is_read) in [("abcd", true), ("abcde", false)] {
            let (reader, mut writer) = io::pipe().expect("a pipe");
            io::Write::write_all(&mut writer, text.as_bytes()).expect("room in the pipe");
            drop(writer);
            let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
            let path = format!("/dev/fd/{number}");
            let error = refusal(NOTE, Path::new(&path));
            assert_eq!(
                error,
                "it is a pipe, and a note is a file of at most 4 bytes"
            );
            let allowed = SmallFile {
                may_be_pipe: true,
                ..NOTE
            };
            assert_eq!(allowed.read(Path::new(&path)).is_ok(), is_read, "{text}");
        }
    }
}
