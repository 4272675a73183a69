//! Arrays of text columns: their views, and the texts into which the views point.
//!
//! # Why it is sound
//!
//! Arrow accepts an array of views without a check if the caller guarantees the facts that `StringViewArray::try_new`
//! would check. For a text that is known to be UTF-8 they hold:
//!
//! - Every view is inside its buffer: `views::view` indexes the text at the view's start and end, `views::short_view`
//!   slices the text, and `simd::views` compares both with the text's length. [`Views::finish`] asserts that the
//!   buffers are those texts.
//! - Its length, prefix, buffer and offset are written as the format requires, and the bytes after an inlined text are
//!   zero.
//! - Its text is valid UTF-8. Built text is a `String` that is only appended to (`views::Built`), unescaped text was
//!   checked when it was made, and the text was checked as a whole. A view begins and ends between characters:
//!   `views::view` asserts it at both ends. `simd::views` checks both ends, too, or leaves the check to `views::view`.
//!   Only fields in `Fields::ascii` are not checked: there `text_facts` has found no byte above 0x7F, not even directly
//!   after it, so every position is between characters.
//! - The validity has one bit for each view: both are made from the same fields.
//!
//! Views get into this module only through [`build`].
#![expect(
    unsafe_code,
    reason = "arrays of views that need not be checked once more"
)]

use arrow_array::StringViewArray;
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use inrush_rows::padded_text::PaddedText;

use super::fields::Fields;
use super::kernel::Fault;
use super::simd;
use super::views::TextCheck;

/// The views of a column, before they become an array with the texts into which they point.
pub(super) struct Views {
    views: Vec<u128>,
    nulls: Option<NullBuffer>,
    /// Full buffers of built text, then the last one.
    built: Vec<String>,
    /// Address and length of the unescaped text that the views were checked against.
    unescaped_identity: (usize, usize),
    /// Address and length of the text that the views were checked against.
    text_identity: (usize, usize),
}

/// Builds the views of a column. NULL and faulty rows get an empty text.
pub(super) fn build<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    nulls: Option<NullBuffer>,
    faults: &mut Vec<Fault>,
) -> Views {
    let mut built = vec![String::new()];
    let views = simd::text_views(check, fields, &mut built, faults);
    Views {
        views,
        nulls,
        built,
        unescaped_identity: identity(fields.unescaped),
        text_identity: (fields.text.as_ptr().addr(), fields.text.len()),
    }
}

/// Address and length of a text; all empty texts have the same address.
fn identity(text: &[u8]) -> (usize, usize) {
    match text {
        [] => (0, 0),
        text => (text.as_ptr().addr(), text.len()),
    }
}

impl Views {
    /// The views as they will be in the array.
    #[cfg(test)]
    pub fn as_numbers(&self) -> &[u128] {
        &self.views
    }

    /// The array. `text` contains the fields, `unescaped` is the column's unescaped text.
    pub fn finish(self, text: &PaddedText, unescaped: Vec<u8>) -> StringViewArray {
        let chunk = text.buffer();
        assert_eq!(
            self.text_identity,
            (chunk.as_ptr().addr(), chunk.len()),
            "the views point into this text"
        );
        assert_eq!(
            self.unescaped_identity,
            identity(&unescaped),
            "the views point into this unescaped text"
        );
        let has_built = self.built.iter().any(|built| !built.is_empty());
        let mut buffers = vec![chunk];
        if has_built || !unescaped.is_empty() {
            buffers.push(Buffer::from_vec(unescaped));
        }
        if has_built {
            buffers.extend(
                self.built
                    .into_iter()
                    .map(|built| Buffer::from_vec(built.into_bytes())),
            );
        }
        let views = ScalarBuffer::from(self.views);
        if !text.is_utf8() {
            // If a text is not known to be UTF-8, only its valid records get here. This check is rarely needed.
            return StringViewArray::try_new(views, buffers, self.nulls)
                .expect("views of valid text");
        }
        // SAFETY: the facts that `StringViewArray::try_new` would check hold, as the head of this file explains.
        unsafe { StringViewArray::new_unchecked(views, buffers, self.nulls) }
    }
}
