//! Detects the processor's vector instructions, for the whole workspace.
//!
//! Scan, convert and pgcopy compile their loops for several instruction sets and choose at run time. A function that is
//! compiled for a set may be called only on a machine that has that set. The types of this module are the proof: their
//! only constructors ask the processor, and return `None` if any instruction of the set is missing. Each crate keeps
//! the proof in its own `InstructionSet` or `Instructions`, and its calls to such functions rely on it.
//!
//! The features of a proof are listed in its documentation. To add a feature to a `#[target_feature]`, find it in the
//! list of the proof that the call rests on, or add it there.
//!
//! ```text
//! Avx2 <- Avx512 <- Avx512Vbmi2     each set has all of the set on its left
//!                <- Avx512Ifma
//! ```
//!
//! `is_x86_feature_detected` caches its result, so a check costs a load and a test per feature.

/// Proof that the machine has x86-64-v3: `avx2`, `bmi1`, `bmi2`, `fma`, `lzcnt`, `movbe` and `popcnt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

/// Proof that the machine has x86-64-v4: `avx512f`, `avx512bw`, `avx512cd`, `avx512dq`, `avx512vl` and all of [`Avx2`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

/// Proof that the machine has `avx512vbmi2`, which moves bytes within a vector, and all of [`Avx512`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512Vbmi2(());

/// Proof that the machine has `avx512ifma`, which multiplies numbers of 52 bits, and all of [`Avx512`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512Ifma(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// The proof, if the machine has all of the set.
    pub fn detect() -> Option<Avx2> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Avx2(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// The proof, if the machine has all of the set.
    pub fn detect() -> Option<Avx512> {
        Avx2::detect()?;
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        has_all.then_some(Avx512(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512Vbmi2 {
    /// The proof, if the machine has all of the set.
    pub fn detect() -> Option<Avx512Vbmi2> {
        Avx512::detect()?;
        is_x86_feature_detected!("avx512vbmi2").then_some(Avx512Vbmi2(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512Ifma {
    /// The proof, if the machine has all of the set.
    pub fn detect() -> Option<Avx512Ifma> {
        Avx512::detect()?;
        is_x86_feature_detected!("avx512ifma").then_some(Avx512Ifma(()))
    }
}
