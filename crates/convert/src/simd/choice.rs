//! Chooses the code for this machine. Code for instructions that only some machines have is called from here and
//! nowhere else.
//!
//! # Why it is sound
//!
//! [`Instructions`](super::Instructions) say which instructions a machine has: they contain a proof from
//! [`inrush_scan::cpu`], which only a check of the processor can create. [`Lanes`] are a proof, too, because only code
//! that is compiled for AVX-512 can load them. Apart from that, the functions called here are safe.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "calls of code for instructions that only some machines have"
    )
)]

use super::super::fields::{Fields, GatherInput, Gatherer, Marks, Seen, Span};
use super::super::kernel::{self, Fault, Kernel};
use super::super::present;
use super::super::quoted::{self, SimpleQuotes};
use super::super::text_facts;
use super::super::views::{self, TextCheck};
#[cfg(target_arch = "x86_64")]
use super::super::{date::Date, decimal::Decimal, integer::Integer, timestamp::Timestamp};
use super::{EightKernel, Instructions};
#[cfg(target_arch = "x86_64")]
use super::{LANES, Lanes, dates, decimals, integers, spans, timestamps};

/// The values of a column; NULL and faulty rows get the type's default.
#[inline]
pub(in super::super) fn values<K: Kernel>(
    kernel: &K,
    fields: &Fields<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<K::Native> {
    #[cfg(target_arch = "x86_64")]
    if fields.instructions.has_avx2() {
        // SAFETY: the machine has these instructions.
        return unsafe { kernel::values_avx2(kernel, fields, faults) };
    }
    kernel::values_with(kernel, fields, faults)
}

/// Like [`values`], but reads eight fields at a time if the machine and the column allow it.
#[inline]
pub(in super::super) fn values_by_eight<K: EightKernel>(
    kernel: &K,
    fields: &Fields<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<K::Native> {
    #[cfg(target_arch = "x86_64")]
    if fields.instructions.has_avx512() && kernel.takes_eight() {
        // SAFETY: the machine has these instructions.
        return unsafe { super::values_avx512(kernel, fields, faults) };
    }
    values(kernel, fields, faults)
}

/// The views of a text column; NULL and faulty rows get an empty text.
pub(in super::super) fn views<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    built: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> Vec<u128> {
    #[cfg(target_arch = "x86_64")]
    if fields.instructions.has_avx512()
        && let Some(bytes_max) = check.whole_bytes_max()
    {
        // SAFETY: the machine has these instructions.
        return unsafe { views::views_by_eight(check, fields, bytes_max, built, faults) };
    } else if fields.instructions.has_avx2() {
        // SAFETY: the machine has these instructions.
        return unsafe { views::views_avx2(check, fields, built, faults) };
    }
    views::views_with(check, fields, built, faults)
}

impl Gatherer {
    /// Gathers a column with simple quotes.
    pub(in super::super) fn gather_quoted(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        marks: &Marks<'_>,
        quotes: &SimpleQuotes,
        faults: &mut Vec<Fault>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.instructions.has_avx512() {
            // SAFETY: the machine has these instructions.
            return unsafe { self.gather_quoted_avx512(input, field_index, marks, quotes, faults) };
        } else if self.instructions.has_avx2() {
            // SAFETY: the machine has these instructions.
            return unsafe { self.gather_quoted_avx2(input, field_index, marks, quotes, faults) };
        }
        self.gather_quoted_with(input, field_index, marks, quotes, quoted::first_of, faults);
    }

    /// The spans of all rows as the scan found them; with `empty_is_null`, empty ones become NULL.
    pub(in super::super) fn append_spans(
        &mut self,
        input: &GatherInput<'_>,
        field_index: usize,
        empty_is_null: bool,
    ) -> Seen {
        #[cfg(target_arch = "x86_64")]
        if self.instructions.has_avx512()
            && field_index > 0
            && input.records.field_starts.is_empty()
        {
            // SAFETY: the machine has these instructions.
            return unsafe {
                spans::append(
                    input.rows,
                    &input.records.field_ends,
                    field_index - 1,
                    input.records.gap_bytes,
                    empty_is_null,
                    &mut self.spans,
                )
            };
        } else if self.instructions.has_avx2() {
            // SAFETY: the machine has these instructions.
            return unsafe { self.append_spans_avx2(input, field_index, empty_is_null) };
        }
        self.append_spans_with(input, field_index, empty_is_null)
    }
}

/// One bit for each field, which is set if the field is not NULL. The lowest bit is for the first field.
pub(in super::super) fn present_bits(spans: &[Span], instructions: Instructions) -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    if instructions.has_avx512() {
        // SAFETY: the machine has these instructions.
        return unsafe { spans::present_bits(spans) };
    } else if instructions.has_avx2() {
        // SAFETY: the machine has these instructions.
        return unsafe { present::bits_avx2(spans) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = instructions;
    present::bits_with(spans)
}

/// The smallest byte of a text, and the bits that are set in any byte.
pub(in super::super) fn smallest_and_bits(text: &[u8], instructions: Instructions) -> (u8, u8) {
    #[cfg(target_arch = "x86_64")]
    if instructions.has_avx512() {
        // SAFETY: the machine has these instructions.
        return unsafe { text_facts::smallest_and_bits_avx512(text) };
    } else if instructions.has_avx2() {
        // SAFETY: the machine has these instructions.
        return unsafe { text_facts::smallest_and_bits_avx2(text) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = instructions;
    text_facts::smallest_and_bits_with(text)
}

/// The position of the first of two bytes in a window, found with AVX-512 if the machine has it.
#[cfg(all(test, target_arch = "x86_64"))]
pub(in super::super) fn first_of_avx512(
    window: &super::super::kernel::Window,
    bytes: [u8; 2],
) -> Option<usize> {
    let has_avx512 = Instructions::best().has_avx512();
    // SAFETY: the machine has these instructions.
    has_avx512.then(|| unsafe { super::quotes::first_of(window, bytes) })
}

#[cfg(target_arch = "x86_64")]
impl<N: integers::EightNative> EightKernel for Integer<N> {
    fn takes_eight(&self) -> bool {
        true
    }

    #[inline(always)]
    fn eight(&self, lanes: &Lanes<'_>, values: &mut [N; LANES]) -> bool {
        // SAFETY: if there are lanes, the machine has AVX-512.
        unsafe { integers::eight(lanes, values) }
    }
}

#[cfg(target_arch = "x86_64")]
impl EightKernel for Decimal {
    fn takes_eight(&self) -> bool {
        decimals::takes_eight(self)
    }

    #[inline(always)]
    fn eight(&self, lanes: &Lanes<'_>, values: &mut [i128; LANES]) -> bool {
        // SAFETY: if there are lanes, the machine has AVX-512.
        unsafe { decimals::eight(self, lanes, values) }
    }
}

#[cfg(target_arch = "x86_64")]
impl EightKernel for Date {
    fn takes_eight(&self) -> bool {
        !self.has_formats()
    }

    #[inline(always)]
    fn eight(&self, lanes: &Lanes<'_>, values: &mut [i32; LANES]) -> bool {
        // SAFETY: if there are lanes, the machine has AVX-512.
        unsafe { dates::eight(lanes, values) }
    }
}

#[cfg(target_arch = "x86_64")]
impl EightKernel for Timestamp {
    fn takes_eight(&self) -> bool {
        !self.has_formats()
    }

    #[inline(always)]
    fn eight(&self, lanes: &Lanes<'_>, values: &mut [i64; LANES]) -> bool {
        // SAFETY: if there are lanes, the machine has AVX-512.
        unsafe { timestamps::eight(lanes, values) }
    }
}
