//! The functions that C calls. All unsafe code of the decoder is here.
//!
//! Each function is sound if its pointers are as `decoder.h` requires: `decoder` points to a `Decoder` that only C
//! uses. Each other pointer points to the given number of elements, which nobody else writes during the call; it may be
//! null only if the number is 0. C ensures this: all of them are its own allocations, and a backend has one thread. The
//! structures contain only plain numbers, so any bytes in them are valid.

#![expect(unsafe_code)]

use core::slice;

use crate::column::Column;
use crate::decoder::{Decoder, Status};
use crate::tuple::{Placement, Tuple};

/// The elements at a pointer from C.
///
/// # Safety
///
/// The conditions are at the head of this file.
unsafe fn elements<'a, T>(pointer: *const T, number: usize) -> &'a [T] {
    if pointer.is_null() || number == 0 {
        return &[];
    }
    // SAFETY: see above.
    unsafe { slice::from_raw_parts(pointer, number) }
}

/// The elements at a pointer from C, for writing.
///
/// # Safety
///
/// The conditions are at the head of this file.
unsafe fn elements_mut<'a, T>(pointer: *mut T, number: usize) -> &'a mut [T] {
    if pointer.is_null() || number == 0 {
        return &mut [];
    }
    // SAFETY: see above.
    unsafe { slice::from_raw_parts_mut(pointer, number) }
}

/// The sizes of `Decoder`, `Column` and `Tuple`, which C compares with its own, so that a header of another version is
/// noticed when the extension is loaded.
///
/// # Safety
///
/// `sizes` points to three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_sizes(sizes: *mut usize) {
    // SAFETY: see the head of this file.
    let sizes = unsafe { elements_mut(sizes, 3) };
    if let [decoder, column, tuple] = sizes {
        *decoder = size_of::<Decoder>();
        *column = size_of::<Column>();
        *tuple = size_of::<Tuple>();
    }
}

/// Calls [`Decoder::decode`].
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_decode(
    decoder: *mut Decoder,
    columns: *const Column,
    columns_len: usize,
    input: *const u8,
    input_len: usize,
    arena: *mut u8,
    arena_len: usize,
    tuples: *mut Tuple,
    tuples_len: usize,
) -> Status {
    // SAFETY: see the head of this file.
    unsafe {
        (*decoder).decode(
            elements(columns, columns_len),
            elements(input, input_len),
            elements_mut(arena, arena_len),
            elements_mut(tuples, tuples_len),
        )
    }
}

/// Calls [`Decoder::row`]; `values` and `kinds` have an element for each column.
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_row(
    decoder: *mut Decoder,
    columns: *const Column,
    columns_len: usize,
    input: *const u8,
    input_len: usize,
    arena: *mut u8,
    arena_len: usize,
    values: *mut u64,
    kinds: *mut u8,
) -> Status {
    // SAFETY: see the head of this file.
    unsafe {
        (*decoder).row(
            elements(columns, columns_len),
            elements(input, input_len),
            elements_mut(arena, arena_len),
            elements_mut(values, columns_len),
            elements_mut(kinds, columns_len),
        )
    }
}

/// Calls [`Decoder::give`]; a `placement` that is not a value of [`Placement`] means [`Placement::Aligned`].
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_give(
    decoder: *mut Decoder,
    columns: *const Column,
    columns_len: usize,
    arena: *mut u8,
    arena_len: usize,
    bytes: *const u8,
    bytes_len: usize,
    placement: u8,
) -> bool {
    let placement = match placement {
        0 => Placement::Fixed,
        2 => Placement::Unaligned,
        3 => Placement::External,
        4 => Placement::MakeShort,
        _ => Placement::Aligned,
    };
    // SAFETY: see the head of this file.
    unsafe {
        (*decoder).give(
            elements(columns, columns_len),
            elements_mut(arena, arena_len),
            elements(bytes, bytes_len),
            placement,
        )
    }
}

/// Calls [`Decoder::give_null`].
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_give_null(
    decoder: *mut Decoder,
    columns: *const Column,
    columns_len: usize,
) {
    // SAFETY: see the head of this file.
    unsafe { (*decoder).give_null(elements(columns, columns_len)) }
}

/// Calls [`Decoder::restart_row`].
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_restart_row(decoder: *mut Decoder) {
    // SAFETY: see the head of this file.
    unsafe { (*decoder).restart_row() }
}

/// Calls [`Stream::field_done`](crate::decoder::Stream::field_done).
///
/// # Safety
///
/// The conditions are at the head of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inrush_fastcopy_field_done(decoder: *mut Decoder) {
    // SAFETY: see the head of this file.
    unsafe { (*decoder).stream.field_done() }
}

/// Calls a function that does not exist: see `lib.rs`.
#[cfg(feature = "standalone")]
pub(crate) fn never_panics() -> ! {
    unsafe extern "C" {
        fn inrush_fastcopy_can_panic() -> !;
    }
    // SAFETY: a library that has this call does not link.
    unsafe { inrush_fastcopy_can_panic() }
}
