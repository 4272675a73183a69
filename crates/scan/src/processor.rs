//! What the processor can do, found out when the program runs, and the calls that rest on it.
//!
//! # Why it is sound
//!
//! A function that is compiled for more instructions than every machine has must run only where
//! the machine has them. Two types carry that knowledge, and nobody else can make one:
//!
//! - a [`Kernel`] comes from [`Kernel::available`], which asks the processor, and the functions
//!   below call what its private [`Instructions`] name;
//! - an [`Avx512`] comes from code that is itself compiled for AVX-512, and which therefore runs
//!   only where the machine has it.
//!
//! All else that these functions do is safe code.
#![expect(
    unsafe_code,
    reason = "calls of code for instructions that only some machines have"
)]

use crate::error::ScanError;
use crate::machine::Machine;
#[cfg(target_arch = "x86_64")]
use crate::machine::{take_avx2, take_avx512};
use crate::masks::{self, BLOCK_BYTES, Masks, Needles};
use crate::positions::Portable;
#[cfg(target_arch = "x86_64")]
use crate::positions::{self, BitInstructions};

/// A way of reading text that this machine has. All find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Kept inside a [`Kernel`], so that only [`Kernel::available`] says what the machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// 64 bytes at a time: AVX-512 with VBMI2, and all of the next.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 32 bytes at a time: AVX2, BMI1, BMI2, LZCNT and POPCNT, which came together.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 16 bytes at a time; every x86-64 has it.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// 8 bytes at a time in ordinary registers.
    Portable,
}

impl Kernel {
    /// The kernels that this machine can run, the quickest first.
    pub fn available() -> Vec<Kernel> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi2");
            if has_avx2 && has_avx512 {
                kernels.push(Kernel(Instructions::Avx512));
            }
            if has_avx2 {
                kernels.push(Kernel(Instructions::Avx2));
            }
            kernels.push(Kernel(Instructions::Sse2));
        }
        kernels.push(Kernel(Instructions::Portable));
        kernels
    }

    /// The quickest that this machine can run.
    pub fn best() -> Kernel {
        // The portable one is always there.
        Kernel::available()[0]
    }

    /// [`Kernel::find`] for a number of special bytes that is known.
    pub(crate) fn find_counted<const SPECIALS: usize>(
        self,
        blocks: &[[u8; BLOCK_BYTES]],
        needles: &Needles,
        masks: &mut [Masks],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => {
                // SAFETY: `available` makes this one only where the machine has AVX-512.
                unsafe { masks::avx512::find::<SPECIALS>(blocks, needles, masks) }
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => {
                // SAFETY: `available` makes this one only where the machine has AVX2.
                unsafe { masks::avx2::find::<SPECIALS>(blocks, needles, masks) }
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Sse2 => {
                // SAFETY: SSE2 is a part of x86-64.
                unsafe { masks::sse2::find::<SPECIALS>(blocks, needles, masks) }
            }
            Instructions::Portable => masks::portable::find::<SPECIALS>(blocks, needles, masks),
        }
    }

    /// Has the machine take the masks of a stripe, by the loop that is compiled for this kernel.
    pub(crate) fn take(
        self,
        machine: &mut Machine<'_>,
        base: u32,
        masks: &[Masks],
    ) -> Result<(), ScanError> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` makes this one only where the machine has AVX-512 and AVX2.
            Instructions::Avx512 => unsafe { take_avx512(machine, base, masks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` makes this one only where the machine has AVX2.
            Instructions::Avx2 => unsafe { take_avx2(machine, base, masks) },
            _ => machine.take_blocks(Portable, base, masks),
        }
    }

    /// AVX-512 where this kernel has it.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub(crate) fn avx512(self) -> Option<Avx512> {
        (self.0 == Instructions::Avx512).then_some(Avx512(()))
    }
}

/// The knowledge that the machine has AVX-512 with VBMI2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// What code knows that is compiled for AVX-512.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
    pub(crate) fn new() -> Avx512 {
        Avx512(())
    }
}

#[cfg(target_arch = "x86_64")]
impl BitInstructions for Avx512 {
    #[inline(always)]
    fn write_positions(self, bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        // SAFETY: where there is an `Avx512`, the machine has it.
        unsafe { positions::avx512::write_positions(bits, base, slots) }
    }
}
