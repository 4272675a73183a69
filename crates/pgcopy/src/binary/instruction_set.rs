//! Which instructions the encoder may use, found out when it runs.
//!
//! The calls in `rows.rs` and `avx512.rs` rest on the proofs that [`Instructions`] carry: they are of
//! [`inrush_scan::cpu`], and only a look at the processor makes them.

#[cfg(target_arch = "x86_64")]
use inrush_scan::cpu::Avx2;
use inrush_scan::cpu::Avx512Ifma;

/// A way of encoding rows that this machine has. All write the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Private, so that a benchmark or a test takes one of [`Kernel::available`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// Eight numbers at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512Ifma),
    /// The portable loops compiled for x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// What every machine has.
    Portable,
}

impl Kernel {
    /// The kernels that this machine can run, the quickest first.
    pub fn available() -> Vec<Kernel> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(Avx512Ifma::detect().map(|has| Kernel(Instructions::Avx512(has))));
            kernels.extend(Avx2::detect().map(|has| Kernel(Instructions::Avx2(has))));
        }
        kernels.push(Kernel(Instructions::Portable));
        kernels
    }

    /// The quickest that this machine can run.
    pub(super) fn best() -> Kernel {
        // The portable one is always there.
        Kernel::available()[0]
    }

    /// AVX-512 where this kernel has it: fields are then made before their rows.
    pub(super) fn avx512(self) -> Option<Avx512Ifma> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(has) => Some(has),
            _ => None,
        }
    }

    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}
