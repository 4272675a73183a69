//! For machines other than x86-64, where no instruction set has the proof that [`fill`] needs.

use inrush_scan::cpu::Avx512Ifma;

use super::numeric::Layout;
use super::numeric_slots::Slot;

/// Never called.
pub(super) fn fill(_: Avx512Ifma, _: &[i128], _: &Layout, _: &mut [Slot]) {
    unreachable!("no instruction_set has AVX-512");
}
