//! Which instructions the encoder may use, found out when it runs.
//!
//! Take care: the calls in `rows.rs` and `avx512.rs` are sound only because a [`Kernel`] and an [`Avx512`] are made
//! nowhere but here, and only where the machine has all that those functions are compiled for.

/// A way of encoding rows that this machine has. All write the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Kept inside a [`Kernel`], so that only [`Kernel::available`] says what the machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// AVX-512 with IFMA, which takes eight numbers at a time, and all of the next.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2, and the BMI1, BMI2, LZCNT, MOVBE and POPCNT that came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every machine has.
    Portable,
}

/// The knowledge that the machine has AVX-512 with IFMA.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Avx512(());

/// On other machines nobody knows that.
#[cfg(not(target_arch = "x86_64"))]
impl Avx512 {
    pub(super) fn fill(
        self,
        _: &[i128],
        _: &super::numeric::Layout,
        _: &mut [super::numeric_slots::Slot],
    ) {
        unreachable!("no kernel has AVX-512");
    }
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
                && is_x86_feature_detected!("movbe")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512ifma")
                && is_x86_feature_detected!("avx512vl");
            if has_avx2 && has_avx512 {
                kernels.push(Kernel(Instructions::Avx512));
            }
            if has_avx2 {
                kernels.push(Kernel(Instructions::Avx2));
            }
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
    pub(super) fn avx512(self) -> Option<Avx512> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Some(Avx512(())),
            _ => None,
        }
    }

    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}
