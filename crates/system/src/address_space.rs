//! The limit on the address space of this process (`ulimit -v`).
//!
//! A process that runs into the limit dies without a message, deep in a library or at the start of a thread. So code
//! that is about to take much memory checks the limit first.

use std::fmt;

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};

/// A limited address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSpace {
    /// The limit in bytes.
    pub limit: u64,
    /// The bytes that are not used yet.
    pub left: u64,
}

/// The address space of this process; `None` if it has no limit, or if its use is unknown.
pub fn address_space() -> Option<AddressSpace> {
    let limit = getrlimit(Resource::As).current?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_ascii_whitespace().next()?.parse().ok()?;
    let taken = pages.saturating_mul(page_size() as u64);
    Some(AddressSpace {
        limit,
        left: limit.saturating_sub(taken),
    })
}

/// The address space, if it has less than this number of bytes left.
pub fn lacks(bytes: u64) -> Option<AddressSpace> {
    address_space().filter(|space| space.left < bytes)
}

impl fmt::Display for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this process may have {} MiB of address space (ulimit -v {}), of which {} MiB are left",
            self.limit >> 20,
            self.limit >> 10,
            self.left >> 20
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_the_words_of_the_shell() {
        let space = AddressSpace {
            limit: 300_000 << 10,
            left: 100 << 20,
        };
        assert_eq!(
            space.to_string(),
            "this process may have 292 MiB of address space (ulimit -v 300000), of which 100 MiB are left"
        );
    }
}
