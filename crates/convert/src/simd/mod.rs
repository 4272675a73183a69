//! Makes columns with the vector instructions of the machine.
//!
//! Every part of the step also exists as portable code, for machines without these instructions. There are two faster
//! variants, and [`Instructions`] say which a machine has:
//!
//! - With AVX2 (and the rest of x86-64-v3), the same loops are compiled once more for those instructions: the loops of
//!   `kernel`, of `views` and of the gathering of fields.
//! - With AVX-512, the fields of a column are read eight at a time. [`Lanes`] has eight of them in a register;
//!   `integers`, `decimals`, `dates`, `timestamps` and `views` make their values, and `spans` finds their positions.
//!
//! The values of eight fields are made together or not at all: if one of the eight does not have the common shape, the
//! portable kernel reads all of them, one after the other. So it also finds the faults and words the errors. A type
//! takes part by implementing [`EightKernel`] beside its [`Kernel`]. The unsafe code is in `gather` and `registers`,
//! which read and write memory, and in `choice`, which chooses between instructions; `tests` compares each kernel with
//! its portable twin.
//!
//! `fields`, `kernel`, `quoted` and `simd` depend on each other. `fields` gathers the fields of a column, by the quick
//! path of `quoted` if their quotes are simple; `kernel` makes values of the fields. `simd` compiles the loops of these
//! three modules once more for other instructions, and they call it.

mod choice;
#[cfg(target_arch = "x86_64")]
mod dates;
#[cfg(target_arch = "x86_64")]
mod decimals;
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod gather;
mod instructions;
#[cfg(target_arch = "x86_64")]
mod integers;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
pub(super) mod quotes;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod spans;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod timestamps;
#[cfg(target_arch = "x86_64")]
pub(super) mod views;

#[cfg(all(test, target_arch = "x86_64"))]
pub(super) use choice::first_of_avx512;
pub(super) use choice::{
    present_bits, smallest_and_bits, values, values_by_eight, views as text_views,
};
#[cfg(target_arch = "x86_64")]
pub(super) use gather::Lanes;
pub use instructions::Instructions;

#[cfg(target_arch = "x86_64")]
use super::fields::Fields;
use super::kernel::Kernel;
#[cfg(target_arch = "x86_64")]
use super::kernel::{self, Fault};

/// Fields that are converted at once.
pub(super) const LANES: usize = 8;

/// A kernel that can also read the common shape of eight fields at once.
pub(super) trait EightKernel: Kernel {
    /// True if it can read eight fields of this column at once.
    fn takes_eight(&self) -> bool;

    /// The values of eight fields, with the type's default for NULL. Returns false if one of them has another shape or
    /// `quick` would not accept it; then the content of `values` has no meaning.
    #[cfg(target_arch = "x86_64")]
    fn eight(&self, lanes: &Lanes<'_>, values: &mut [Self::Native; LANES]) -> bool;
}

/// Does the same as `kernel::values_with`, but eight fields at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
)]
fn values_avx512<K: EightKernel>(
    kernel: &K,
    fields: &Fields<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<K::Native> {
    let mut values = vec![K::Native::default(); fields.spans.len()];
    let (groups, rest) = values.as_chunks_mut::<LANES>();
    let (span_groups, _) = fields.spans.as_chunks::<LANES>();
    for (group, (spans, values)) in span_groups.iter().zip(&mut *groups).enumerate() {
        if let Some(lanes) = Lanes::load(spans, fields.text)
            && kernel.eight(&lanes, values)
        {
            continue;
        }
        for (lane, value) in values.iter_mut().enumerate() {
            *value = kernel::value(kernel, fields, group * LANES + lane, faults);
        }
    }
    let first = groups.len() * LANES;
    for (lane, value) in rest.iter_mut().enumerate() {
        *value = kernel::value(kernel, fields, first + lane, faults);
    }
    values
}
