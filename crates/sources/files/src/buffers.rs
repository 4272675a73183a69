//! A pool of buffers. Each is filled, scanned, handed out in a chunk, and taken back.
//!
//! All bytes of a buffer are initialized, so a recycled buffer need not be zeroed.

use arrow_buffer::Buffer;
use inrush_rows::padded_text::PADDING_BYTES;

/// The most free buffers that a pool keeps. A reader needs more than one, because it fills one while the chunk of
/// another is in use.
const SPARE_MAX: usize = 4;

/// Buffers that are free. The pool is passed from one split's reader to the next.
#[derive(Debug)]
pub struct BufferPool {
    spare: Vec<Vec<u8>>,
    spare_max: usize,
}

impl Default for BufferPool {
    fn default() -> BufferPool {
        BufferPool::with_spare_max(SPARE_MAX)
    }
}

impl BufferPool {
    /// A pool that keeps at most this many buffers.
    pub(super) fn with_spare_max(spare_max: usize) -> BufferPool {
        BufferPool {
            spare: Vec::new(),
            spare_max,
        }
    }

    /// A buffer of at least `text_bytes` and the padding after them.
    pub(super) fn take(&mut self, text_bytes: usize) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        grow(&mut bytes, text_bytes);
        bytes
    }

    /// Takes back the memory of a chunk if nothing else holds it. Returns whether it did.
    pub(super) fn recycle(&mut self, buffer: Buffer, text_bytes_max: usize) -> bool {
        match buffer.into_vec::<u8>() {
            Ok(bytes) => {
                self.put(bytes, text_bytes_max);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes a buffer back. A buffer that a long record has made larger than `text_bytes_max` is freed.
    pub(super) fn put(&mut self, bytes: Vec<u8>, text_bytes_max: usize) {
        let is_usual = bytes.capacity() <= text_bytes_max + PADDING_BYTES;
        if is_usual && !bytes.is_empty() && self.spare.len() < self.spare_max {
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
impl BufferPool {
    /// The memory of free buffers, in bytes.
    pub(super) fn spare_bytes(&self) -> usize {
        self.spare.iter().map(Vec::capacity).sum()
    }
}

/// Makes room for `text_bytes` and the padding after them.
pub(super) fn grow(bytes: &mut Vec<u8>, text_bytes: usize) {
    let wanted = text_bytes + PADDING_BYTES;
    if bytes.len() < wanted {
        bytes.reserve_exact(wanted - bytes.len());
        bytes.resize(wanted, 0);
    }
}
