//! Makes bit masks from text: which bytes of each block of 64 are delimiters, line ends, quotes or escapes.
//! `instruction_set` has the [`InstructionSet`]s of the machine; all find the same bits, and the tests compare them.
//! The users of the bits (`mask_walker`, `positions`) are compiled for the same instruction sets.
//!
//! This module and `instruction_set` need each other: [`InstructionSet::find`] is here and asks `instruction_set` for
//! the instructions, and `instruction_set` calls the code here that is compiled for them.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sse2;

pub use crate::instruction_set::InstructionSet;

/// The number of bytes in a block; each has one bit in a mask.
pub const BLOCK_BYTES: usize = 64;

/// The bytes to look for, in addition to the carriage return.
#[derive(Clone, Copy, Debug)]
pub struct Needles {
    /// The delimiter, or its first byte.
    pub delimiter: u8,
    /// The terminator, or its first byte.
    pub newline: u8,
    /// The quote and the escape, if they exist: the first `special_count` bytes are valid.
    pub special: [u8; 2],
    /// The number of valid bytes in `special`: 0, 1 or 2.
    pub special_count: usize,
}

/// The masks of a block; bit 0 is its first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// Delimiters.
    pub delimiters: u64,
    /// Line feeds, or first bytes of another terminator.
    pub newlines: u64,
    /// Carriage returns.
    pub returns: u64,
    /// Quotes and escapes.
    pub specials: u64,
}

impl InstructionSet {
    /// Finds the masks of `blocks`, one for each.
    pub fn find(self, blocks: &[[u8; BLOCK_BYTES]], needles: &Needles, masks: &mut [Masks]) {
        match needles.special_count {
            0 => self.find_counted::<0>(blocks, needles, masks),
            1 => self.find_counted::<1>(blocks, needles, masks),
            _ => self.find_counted::<2>(blocks, needles, masks),
        }
    }
}
