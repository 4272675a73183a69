//! The result of a column's conversion.

use std::sync::Arc;

use arrow_array::ArrayRef;
use inrush_rows::padded_text::PaddedText;

use super::fields::Gatherer;
use super::view_array::Views;

/// The array of a column. Views become an array only when the texts that they point into are handed over.
pub(super) enum Output {
    Array(ArrayRef),
    Text(Views),
}

impl Output {
    /// The array. `text` and the gatherer's unescaped text contain the fields.
    pub fn finish(self, text: &PaddedText, gatherer: &mut Gatherer) -> ArrayRef {
        match self {
            Output::Array(array) => array,
            Output::Text(views) => Arc::new(views.finish(text, gatherer.take_unescaped())),
        }
    }
}
