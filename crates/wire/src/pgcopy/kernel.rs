//! Which instructions the encoder may use, found out when it runs.

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

    /// Whether fields are made before their rows where that is possible.
    pub(super) fn fills_slots(self) -> bool {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => true,
            _ => false,
        }
    }

    pub(super) fn instructions(self) -> Instructions {
        self.0
    }
}
