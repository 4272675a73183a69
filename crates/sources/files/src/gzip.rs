//! The members of a gzip file, one after the other, and the bytes after the last one.
//!
//! Tapes and block devices fill a file's last block with zeros, which gzip itself skips, too. gzip also ignores any
//! other data there, with a warning that nobody reads in a nightly load. Such data may be rows of a damaged member, so
//! they are an error here.

use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use inrush_rows::compression::Compression;

use super::signature::signature;

/// Reads all members as one text.
pub(super) struct GzipMembers<R> {
    /// The member that is being read; `None` only during the change to the next one.
    member: Option<GzDecoder<R>>,
    /// True if everything after the last member was checked.
    at_end: bool,
}

/// The data after the last member are neither another member nor only zeros.
#[derive(Debug)]
pub(super) struct TrailingBytes {
    first_byte: u8,
}

impl fmt::Display for TrailingBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the byte {:#04x}, which is neither another gzip member nor zero padding,",
            self.first_byte
        )
    }
}

impl std::error::Error for TrailingBytes {}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(file: R) -> GzipMembers<R> {
        GzipMembers {
            member: Some(GzDecoder::new(file)),
            at_end: false,
        }
    }

    /// The compressed bytes.
    pub(super) fn get_ref(&self) -> &R {
        self.member().get_ref()
    }

    fn member(&self) -> &GzDecoder<R> {
        self.member.as_ref().expect("one member follows the other")
    }

    /// Goes from the end of a member to the next one; false if there is none.
    fn next_member(&mut self) -> io::Result<bool> {
        let member = self.member.as_mut().expect("one member follows the other");
        let file = member.get_mut();
        let mut zeros_seen = false;
        let first_byte = loop {
            let bytes = file.fill_buf()?;
            match bytes.iter().position(|byte| *byte != 0) {
                Some(at) => {
                    let first_byte = bytes[at];
                    zeros_seen |= at > 0;
                    file.consume(at);
                    break first_byte;
                }
                None if bytes.is_empty() => return Ok(false),
                None => {
                    zeros_seen = true;
                    let count = bytes.len();
                    file.consume(count);
                }
            }
        };
        if zeros_seen || first_byte != signature(Compression::Gzip)[0] {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                TrailingBytes { first_byte },
            ));
        }
        let file = self.member.take().map(GzDecoder::into_inner);
        self.member = file.map(GzDecoder::new);
        Ok(true)
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !self.at_end && !bytes.is_empty() {
            let member = self.member.as_mut().expect("one member follows the other");
            let count = member.read(bytes)?;
            if count > 0 {
                return Ok(count);
            }
            self.at_end = !self.next_member()?;
        }
        Ok(0)
    }
}
