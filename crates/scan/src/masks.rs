//! From text to bit masks: the bytes of each block of 64 that are delimiters, line ends, quotes or escapes.
//! `instruction_set` says which [`InstructionSet`]s the machine has; all find the same bits, and the tests compare
//! them. The users of the bits (`mask_walker`, `positions`) are compiled for the same instruction sets.
//!
//! This module and `instruction_set` need each other: [`InstructionSet::find`] stands here and asks `instruction_set` for the
//! instructions, and `instruction_set` calls the code here that is compiled for them.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod sse2;

pub use crate::instruction_set::InstructionSet;

/// Bytes of a block: one bit of a mask each.
pub const BLOCK_BYTES: usize = 64;

/// The bytes to look for, beside the carriage return.
#[derive(Clone, Copy, Debug)]
pub struct Needles {
    /// Between fields.
    pub delimiter: u8,
    /// Ends records, or begins what ends them.
    pub newline: u8,
    /// Quote, escape, both or neither: how many of `special` count is `special_count`.
    pub special: [u8; 2],
    /// 0, 1 or 2.
    pub special_count: usize,
}

/// The masks of a block; bit 0 is its first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// Delimiters.
    pub delimiters: u64,
    /// Line feeds, or what ends records instead.
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
