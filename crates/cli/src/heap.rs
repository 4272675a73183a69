//! The system's allocator, which ends the command with an error message when memory runs out.
//!
//! Without this, Rust ends the process by an abort that names a number of bytes, and a shell says "Aborted".
//!
//! # Why it is sound
//!
//! Each call is passed unchanged to the system's allocator, and its result is returned. If the result is a null
//! pointer, the process ends without allocating anything.
#![expect(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The allocator of the command and of its Python module.
pub struct Heap;

// SAFETY: see the head of this file.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, and the arguments are unchanged.
        told(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, and the arguments are unchanged.
        told(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract, and the arguments are unchanged.
        told(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract, and the arguments are unchanged.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[inline]
fn told(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        end(size);
    }
    pointer
}

#[cold]
fn end(size: usize) -> ! {
    let mut text = [0; 512];
    let mut left = &mut text[..];
    // Writes into a fixed buffer; text that does not fit is left out.
    let _ = write!(
        left,
        "error: out of memory: cannot allocate {size} more bytes\n\
         hint: raise the limit of memory (ulimit -v, a container's or a service's limit), or use fewer --streams; committed \
         work is kept, and the same command resumes it\n"
    );
    let unused = left.len();
    let length = text.len() - unused;
    let _ = rustix::io::write(rustix::stdio::stderr(), &text[..length]);
    signal_hook::low_level::exit(1)
}
