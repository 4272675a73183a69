//! The kinds of vector instructions that a converter may use.
//!
//! The calls in `choice.rs` rely on the proofs in [`Instructions`]: these come from [`inrush_scan::cpu`], and only a
//! check of the processor creates them.

#[cfg(target_arch = "x86_64")]
use inrush_scan::cpu::{Avx2, Avx512};

/// The instructions that convert columns. All of them give the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(Level);

/// Private, so that benchmarks and tests use one of [`Instructions::available`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Eight fields at a time, with AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// The portable loops compiled for x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Instructions that every machine has.
    Portable,
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions::best()
    }
}

impl Instructions {
    /// All instructions that this machine can run, the fastest first.
    pub fn available() -> Vec<Instructions> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Avx512::detect().map(|has| Instructions(Level::Avx512(has))));
            levels.extend(Avx2::detect().map(|has| Instructions(Level::Avx2(has))));
        }
        levels.push(Instructions(Level::Portable));
        levels
    }

    /// The fastest instructions that this machine can run.
    pub fn best() -> Instructions {
        // The portable ones are always available.
        Instructions::available()[0]
    }

    /// True if eight fields can be taken at a time: there is a proof of AVX-512.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(in super::super) fn has_avx512(self) -> bool {
        matches!(self.0, Level::Avx512(_))
    }

    /// True if code for x86-64-v3 can run: there is a proof of AVX2, or one of AVX-512, which includes AVX2.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(in super::super) fn has_avx2(self) -> bool {
        matches!(self.0, Level::Avx512(_) | Level::Avx2(_))
    }
}
