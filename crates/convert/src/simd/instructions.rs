//! Which vector instructions the machine has.
//!
//! Take care: the calls in `choice.rs` are sound only because [`Instructions`] are made nowhere but here, and only where
//! the machine has all that those functions are compiled for.

/// Instructions that columns are made with. All of them make the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(Level);

/// Private, so that only [`Instructions::available`] says what the machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Eight fields at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// The portable loops compiled for x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every machine has.
    Portable,
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions::best()
    }
}

impl Instructions {
    /// All that this machine can run, the quickest first.
    pub fn available() -> Vec<Instructions> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("movbe")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = has_avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if has_avx512 {
                levels.push(Instructions(Level::Avx512));
            }
            if has_avx2 {
                levels.push(Instructions(Level::Avx2));
            }
        }
        levels.push(Instructions(Level::Portable));
        levels
    }

    /// The quickest that this machine can run.
    pub fn best() -> Instructions {
        // The portable ones are always there.
        Instructions::available()[0]
    }

    /// Whether eight fields can be taken at a time.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(in super::super) fn has_avx512(self) -> bool {
        self.0 == Level::Avx512
    }

    /// Whether code for x86-64-v3 can run.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(in super::super) fn has_avx2(self) -> bool {
        self.0 != Level::Portable
    }
}
