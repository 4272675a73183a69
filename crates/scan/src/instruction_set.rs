//! The instruction sets with which this machine can scan text, and the calls to the code that is compiled for each of
//! them.
//!
//! This module and the modules [`mask_walker`](crate::mask_walker) and [`masks`] depend on each other: this module
//! chooses the instructions and calls their code, and they call this module to choose.
//!
//! # Why it is sound
//!
//! Code that is compiled for special instructions must run only on machines that have them. The variants of
//! [`Instructions`] for AVX contain a proof from [`cpu`](crate::cpu), which is made only if the processor has the
//! instructions. Each call below needs only the instructions of the proof in its match arm.
//!
//! The code of these functions is otherwise safe.
#![expect(
    unsafe_code,
    reason = "calls code that is compiled for instructions of some machines"
)]

#[cfg(target_arch = "x86_64")]
use crate::cpu::{Avx2, Avx512Vbmi2};
use crate::error::ScanError;
use crate::mask_walker::MaskWalker;
#[cfg(target_arch = "x86_64")]
use crate::mask_walker::{take_avx2, take_avx512};
use crate::masks::{self, BLOCK_BYTES, Masks, Needles};
use crate::positions::Portable;
#[cfg(target_arch = "x86_64")]
use crate::positions::{self, BitInstructions};

/// An instruction set that this machine has. All of them give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet(Instructions);

/// Private, so that a benchmark or a test can take only one of [`InstructionSet::available`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    /// Processes 64 bytes at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Vbmi2),
    /// Processes 32 bytes at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Processes 16 bytes at a time; every x86-64 has it.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// Processes 8 bytes at a time in ordinary registers.
    Portable,
}

impl InstructionSet {
    /// The instruction sets that this machine can run, the fastest first.
    pub fn available() -> Vec<InstructionSet> {
        let mut instruction_sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            instruction_sets
                .extend(Avx512Vbmi2::detect().map(|has| InstructionSet(Instructions::Avx512(has))));
            instruction_sets
                .extend(Avx2::detect().map(|has| InstructionSet(Instructions::Avx2(has))));
            instruction_sets.push(InstructionSet(Instructions::Sse2));
        }
        instruction_sets.push(InstructionSet(Instructions::Portable));
        instruction_sets
    }

    /// The fastest instruction set that this machine can run.
    pub fn best() -> InstructionSet {
        // The portable one is always there.
        InstructionSet::available()[0]
    }

    /// [`InstructionSet::find`] for a number of special bytes that is known at compile time.
    pub(crate) fn find_counted<const SPECIALS: usize>(
        self,
        blocks: &[[u8; BLOCK_BYTES]],
        needles: &Needles,
        masks: &mut [Masks],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(_) => {
                // SAFETY: the proof says that the machine has AVX-512.
                unsafe { masks::avx512::find::<SPECIALS>(blocks, needles, masks) }
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(_) => {
                // SAFETY: the proof says that the machine has AVX2.
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

    /// Processes the masks of a stripe by the loop that is compiled for this instruction set.
    pub(crate) fn take(
        self,
        machine: &mut MaskWalker<'_>,
        base: u32,
        masks: &[Masks],
    ) -> Result<(), ScanError> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the proof says that the machine has AVX-512 with VBMI2, and all of AVX2.
            Instructions::Avx512(has) => unsafe { take_avx512(machine, base, masks, has) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the proof says that the machine has AVX2 and the instructions for bits.
            Instructions::Avx2(_) => unsafe { take_avx2(machine, base, masks) },
            _ => machine.take_blocks(Portable, base, masks),
        }
    }

    /// The proof of AVX-512, if this instruction set has it.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub(crate) fn avx512(self) -> Option<Avx512Vbmi2> {
        match self.0 {
            Instructions::Avx512(has) => Some(has),
            _ => None,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl BitInstructions for Avx512Vbmi2 {
    #[inline(always)]
    fn write_positions(self, bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        // SAFETY: the proof is this value itself.
        unsafe { positions::avx512::write_positions(bits, base, slots) }
    }
}
