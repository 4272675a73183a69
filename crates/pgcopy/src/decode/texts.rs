//! Texts and bytes: views into the block.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::column::Nulls;
use super::error::DecodeError;
use super::fields::Fields;

/// Texts up to this length are in their view.
const INLINE_BYTES_MAX: usize = 12;
/// The version byte of `jsonb`.
const JSONB_VERSION: u8 = 1;

/// A text that is not UTF-8: the database's encoding is SQL_ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadText {
    /// The row in its block, from 0.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
    /// The bytes as they were sent.
    pub bytes: Vec<u8>,
}

/// Views of the values without their first `skipped` bytes.
fn views(
    fields: &Fields<'_>,
    block: &Buffer,
    skipped: usize,
) -> (Vec<u128>, Vec<Buffer>, Option<NullBuffer>) {
    let mut views = Vec::with_capacity(fields.len());
    let mut nulls = Nulls::default();
    let mut any_long = false;
    for (row, field) in fields.iter().enumerate() {
        match field {
            None => {
                nulls.add(row);
                views.push(0);
            }
            Some((position, bytes)) => {
                let text = &bytes[skipped..];
                any_long |= text.len() > INLINE_BYTES_MAX;
                views.push(make_view(text, 0, (position + skipped) as u32));
            }
        }
    }
    let buffers = match any_long {
        true => vec![block.clone()],
        // The block need not be kept for views that have their texts in them.
        false => Vec::new(),
    };
    (views, buffers, nulls.finish(fields.len()))
}

pub(super) fn binary(fields: &Fields<'_>, block: &Buffer) -> Result<ArrayRef, DecodeError> {
    let (views, buffers, nulls) = views(fields, block, 0);
    let array = BinaryViewArray::try_new(ScalarBuffer::from(views), buffers, nulls);
    Ok(Arc::new(
        array.map_err(|error| fields.fault(0, error.to_string()))?,
    ))
}

/// Texts. Those that are not UTF-8 are added to `bad_texts`, and are empty in the array.
pub(super) fn array(
    fields: &Fields<'_>,
    block: &Buffer,
    skipped: usize,
    bad_texts: &mut Vec<BadText>,
) -> Result<ArrayRef, DecodeError> {
    let (mut views, buffers, nulls) = views(fields, block, skipped);
    let made = StringViewArray::try_new(
        ScalarBuffer::from(views.clone()),
        buffers.clone(),
        nulls.clone(),
    );
    if let Ok(array) = made {
        return Ok(Arc::new(array));
    }
    for (row, field) in fields.iter().enumerate() {
        let Some((_, bytes)) = field else { continue };
        if std::str::from_utf8(&bytes[skipped..]).is_err() {
            views[row] = 0;
            bad_texts.push(BadText {
                row,
                column: fields.column(),
                bytes: bytes[skipped..].to_vec(),
            });
        }
    }
    let array = StringViewArray::try_new(ScalarBuffer::from(views), buffers, nulls);
    Ok(Arc::new(
        array.map_err(|error| fields.fault(0, error.to_string()))?,
    ))
}

pub(super) fn jsonb(
    fields: &Fields<'_>,
    block: &Buffer,
    bad_texts: &mut Vec<BadText>,
) -> Result<ArrayRef, DecodeError> {
    for (row, field) in fields.iter().enumerate() {
        if field.is_some_and(|(_, bytes)| bytes.first() != Some(&JSONB_VERSION)) {
            return Err(fields.fault(row, "jsonb of a version other than 1".to_owned()));
        }
    }
    array(fields, block, 1, bad_texts)
}

/// Values of `"char"` as the encoder reads them: a character, nothing for the byte 0, `\ooo` for bytes from 128.
pub(super) fn bytes_of_char(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError> {
    let mut texts: Vec<Option<String>> = Vec::with_capacity(fields.len());
    for (row, field) in fields.iter().enumerate() {
        texts.push(match field {
            None => None,
            Some((_, [0])) => Some(String::new()),
            Some((_, [byte])) if byte.is_ascii() => Some(char::from(*byte).to_string()),
            Some((_, [byte])) => Some(format!("\\{byte:03o}")),
            Some((_, bytes)) => {
                let what = format!("the field has {} bytes, but a value has 1", bytes.len());
                return Err(fields.fault(row, what));
            }
        });
    }
    Ok(Arc::new(StringViewArray::from_iter(texts)))
}
