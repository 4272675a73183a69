//! The loop over the fields of one column, and the trait for the column types that use it.
//!
//! `fields`, `kernel`, `quoted` and `simd` depend on each other. `fields` gathers the fields of a column, by the quick
//! path of `quoted` if their quotes are simple; `kernel` makes values of the fields. `simd` compiles the loops of these
//! three modules once more for other instructions, and they call it.

use std::hint::select_unpredictable;

use super::error::ValueError;
use super::fields::Fields;

/// Bytes that a quick path may read.
pub(super) const WINDOW_BYTES: usize = inrush_rows::padded_text::PADDING_BYTES;

/// The bytes of a field, and the bytes after it, which belong to other fields or to the padding.
pub(super) type Window = [u8; WINDOW_BYTES];

/// Makes the values of one column type with a fixed width.
pub(super) trait Kernel {
    /// The value.
    type Native: Copy + Default;

    /// The value of a field with the usual shape; `None` if it has any other shape. It never accepts a field that
    /// `exact` rejects, and gives the same value. It has no side effects: a field may be read a second time in place of
    /// a NULL.
    fn quick(&self, window: &Window, length: usize) -> Option<Self::Native>;

    /// The value of any field, or its fault.
    fn exact(&self, field: &[u8]) -> Result<Self::Native, ValueError>;
}

/// A value that does not fit, and the index of its row in the batch.
pub(super) struct Fault {
    /// Index in the batch.
    pub row: usize,
    /// The problem, in words.
    pub error: ValueError,
}

/// [`values_with`] compiled for AVX2 and the rest of x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
pub(super) fn values_avx2<K: Kernel>(
    kernel: &K,
    fields: &Fields<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<K::Native> {
    values_with(kernel, fields, faults)
}

/// The values of one column; NULL and faulty rows get the type's default. The loop is compiled for the instructions of
/// its caller.
#[inline(always)]
pub(super) fn values_with<K: Kernel>(
    kernel: &K,
    fields: &Fields<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<K::Native> {
    // Loops over slices, because functions inside an iterator are not compiled for the caller's instructions.
    let mut values = vec![K::Native::default(); fields.spans.len()];
    let text = fields.text;
    let places = fields.spans.iter().enumerate().zip(&mut values);
    if fields.is_plain {
        for ((row, span), value) in places {
            let start = span.start as usize;
            let window: &Window = text[start..start + WINDOW_BYTES]
                .try_into()
                .expect("a window long");
            *value = match kernel.quick(window, span.length as usize) {
                Some(value) => value,
                None => exact(kernel, fields, row, faults),
            };
        }
    } else if let Some(mut last) = fields.first_among_nulls() {
        for ((row, span), value) in places {
            // The processor would often mispredict a branch for NULL. So a NULL is replaced by the field before it,
            // which usually has the common shape.
            let is_null = span.is_null();
            last = select_unpredictable(is_null, last, *span);
            let start = last.start as usize;
            let window: &Window = text[start..start + WINDOW_BYTES]
                .try_into()
                .expect("a window long");
            *value = match kernel.quick(window, last.length as usize) {
                Some(value) => select_unpredictable(is_null, K::Native::default(), value),
                None => exact(kernel, fields, row, faults),
            };
        }
    } else {
        for ((row, _), made) in places {
            *made = value(kernel, fields, row, faults);
        }
    }
    values
}

/// The value of one row.
#[inline(always)]
pub(super) fn value<K: Kernel>(
    kernel: &K,
    fields: &Fields<'_>,
    row: usize,
    faults: &mut Vec<Fault>,
) -> K::Native {
    let Some((window, length)) = fields.window(row) else {
        return K::Native::default();
    };
    match kernel.quick(window, length) {
        Some(value) => value,
        None => exact(kernel, fields, row, faults),
    }
}

#[cold]
#[inline(never)]
fn exact<K: Kernel>(
    kernel: &K,
    fields: &Fields<'_>,
    row: usize,
    faults: &mut Vec<Fault>,
) -> K::Native {
    let Some(field) = fields.field(row) else {
        return K::Native::default();
    };
    match kernel.exact(field) {
        Ok(value) => value,
        Err(error) => {
            faults.push(Fault { row, error });
            K::Native::default()
        }
    }
}

/// A field without the blanks around it, which PostgreSQL's input functions skip.
pub(super) fn trim(field: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let Some(start) = field.iter().position(|byte| !is_blank(byte)) else {
        return &[];
    };
    let end = field
        .iter()
        .rposition(|byte| !is_blank(byte))
        .map_or(start, |last| last + 1);
    &field[start..end]
}

/// A kernel's two paths on one text, for tests: if the quick one accepts, both must agree.
#[cfg(test)]
pub(super) fn both_paths<K: Kernel>(kernel: &K, text: &str) -> Result<K::Native, ValueError>
where
    K::Native: PartialEq + std::fmt::Debug,
{
    let exact = kernel.exact(text.as_bytes());
    // Any bytes may follow a field: the quick path must not depend on them.
    for filler in [0, b'0', b'9', b'|', b' ', b'.', 0xff] {
        let mut bytes = vec![filler; text.len() + WINDOW_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let window: &Window = bytes[..WINDOW_BYTES].try_into().expect("a window long");
        if let Some(value) = kernel.quick(window, text.len()) {
            assert_eq!(exact.as_ref(), Ok(&value), "quick path on {text:?}");
        }
    }
    exact
}
