//! The instructions that the encoder may use, detected at run time.
//!
//! The calls in `rows.rs` rely on the proofs in [`Instructions`]. These come from [`inrush_scan::cpu`], and exist only
//! if the processor has the instructions.

#[cfg(target_arch = "x86_64")]
use inrush_scan::cpu::Avx2;

/// A way of encoding rows that this machine has. All ways write the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet(Instructions);

/// Private, so that a benchmark or a test takes one of [`InstructionSet::available`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// The portable loops compiled for x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Instructions that every machine has.
    Portable,
}

impl InstructionSet {
    /// The instruction sets that this machine can run, the fastest first.
    pub fn available() -> Vec<InstructionSet> {
        let mut instruction_sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        instruction_sets.extend(Avx2::detect().map(|has| InstructionSet(Instructions::Avx2(has))));
        instruction_sets.push(InstructionSet(Instructions::Portable));
        instruction_sets
    }

    /// The fastest instruction set that this machine can run.
    pub(super) fn best() -> InstructionSet {
        // The portable instruction set is always there.
        InstructionSet::available()[0]
    }

    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}
