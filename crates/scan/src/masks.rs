//! From text to bit masks: which bytes of each block of 64 are delimiters, line ends, quotes
//! or escapes. What the machine can do is found out here ([`Kernel::available`]); its kernels
//! find the same bits, and the tests hold them against each other. What is made of the bits
//! (`machine`, `positions`) is compiled for the same kernels.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

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

/// What was found in a block; bit 0 is its first byte.
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

/// A way of finding masks that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Kept inside a [`Kernel`], so that only [`Kernel::available`] says what the machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
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

    /// What the machine has, for all that is compiled more than once.
    pub(crate) fn instructions(self) -> Instructions {
        self.0
    }

    /// Finds the masks of `blocks`, one for each.
    pub fn find(self, blocks: &[[u8; BLOCK_BYTES]], needles: &Needles, masks: &mut [Masks]) {
        match needles.special_count {
            0 => self.find_counted::<0>(blocks, needles, masks),
            1 => self.find_counted::<1>(blocks, needles, masks),
            _ => self.find_counted::<2>(blocks, needles, masks),
        }
    }

    fn find_counted<const SPECIALS: usize>(
        self,
        blocks: &[[u8; BLOCK_BYTES]],
        needles: &Needles,
        masks: &mut [Masks],
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` makes this one only where the machine has AVX-512.
            Instructions::Avx512 => unsafe { avx512::find::<SPECIALS>(blocks, needles, masks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` makes this one only where the machine has AVX2.
            Instructions::Avx2 => unsafe { avx2::find::<SPECIALS>(blocks, needles, masks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: SSE2 is a part of x86-64.
            Instructions::Sse2 => unsafe { sse2::find::<SPECIALS>(blocks, needles, masks) },
            Instructions::Portable => portable::find::<SPECIALS>(blocks, needles, masks),
        }
    }
}
