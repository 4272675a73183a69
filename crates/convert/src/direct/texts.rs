//! Texts: views into the file's own arrays.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, GenericStringArray, OffsetSizeTrait, StringViewArray,
    downcast_dictionary_array,
};
use arrow_schema::DataType;

use super::super::text::Text;
use super::super::views::{INLINE_BYTES_MAX, TextCheck};

/// The largest buffer in which views can reach every byte.
pub(super) const BUFFER_BYTES_MAX: usize = i32::MAX as usize;

pub(super) fn array(values: &ArrayRef, kernel: &Text) -> Option<ArrayRef> {
    let views = match values.data_type() {
        DataType::Utf8View => values.as_string_view().clone(),
        DataType::Utf8 => of_strings(values.as_string::<i32>())?,
        DataType::LargeUtf8 => of_strings(values.as_string::<i64>())?,
        DataType::Dictionary(_, _) => {
            downcast_dictionary_array!(
                values => of_dictionary(values)?,
                _ => return None
            )
        }
        _ => return None,
    };
    checked(views, kernel)
}

fn of_strings<'a, O: OffsetSizeTrait>(values: &'a GenericStringArray<O>) -> Option<StringViewArray>
where
    StringViewArray: From<&'a GenericStringArray<O>>,
{
    (values.values().len() < BUFFER_BYTES_MAX).then(|| values.into())
}

fn of_dictionary<K: ArrowDictionaryKeyType>(
    values: &DictionaryArray<K>,
) -> Option<StringViewArray> {
    match values.values().data_type() {
        DataType::Utf8 => of_words(values, values.values().as_string::<i32>()),
        DataType::LargeUtf8 => of_words(values, values.values().as_string::<i64>()),
        _ => None,
    }
}

fn of_words<K: ArrowDictionaryKeyType, O: OffsetSizeTrait>(
    values: &DictionaryArray<K>,
    words: &GenericStringArray<O>,
) -> Option<StringViewArray> {
    if words.values().len() >= BUFFER_BYTES_MAX {
        return None;
    }
    let mut builder = StringViewBuilder::with_capacity(values.len());
    let block = builder.append_block(words.values().clone());
    let offsets = words.value_offsets();
    for row in 0..values.len() {
        match values.key(row).filter(|key| words.is_valid(*key)) {
            None => builder.append_null(),
            Some(key) => {
                let start = offsets[key].as_usize();
                let length = offsets[key + 1].as_usize() - start;
                // Both are below 2^31.
                let view = builder.try_append_view(block, start as u32, length as u32);
                view.ok()?;
            }
        }
    }
    Some(builder.finish())
}

/// The views, if each value fits. They are made again if blanks that do not count must be removed.
fn checked(views: StringViewArray, kernel: &Text) -> Option<ArrayRef> {
    if any_nul(&views) {
        return None;
    }
    let whole_bytes_max = kernel.whole_bytes_max().unwrap_or(0);
    let longest = views
        .views()
        .iter()
        .fold(0, |longest, view| longest.max(*view as u32));
    if longest as usize <= whole_bytes_max {
        return Some(Arc::new(views));
    }
    let mut is_cut = false;
    for text in views.iter().flatten() {
        is_cut |= kernel.kept_length(text.as_bytes()).ok()? < text.len();
    }
    if !is_cut {
        return Some(Arc::new(views));
    }
    let mut builder = StringViewBuilder::with_capacity(views.len());
    for text in &views {
        match text {
            None => builder.append_null(),
            Some(text) => {
                let length = kernel.kept_length(text.as_bytes()).ok()?;
                builder.append_value(&text[..length]);
            }
        }
    }
    Some(Arc::new(builder.finish()))
}

/// True if any text has a NUL byte.
fn any_nul(views: &StringViewArray) -> bool {
    const ONES: u128 = u128::from_ne_bytes([0x01; 16]);
    const HIGHS: u128 = u128::from_ne_bytes([0x80; 16]);
    let buffers = views.data_buffers();
    views.views().iter().enumerate().any(|(row, view)| {
        let length = *view as u32 as usize;
        if length <= INLINE_BYTES_MAX {
            // The bytes of the length, and the bytes after the text, are not part of the text.
            let text = *view >> 32 | u128::MAX.checked_shl(8 * length as u32).unwrap_or(0);
            return text.wrapping_sub(ONES) & !text & HIGHS != 0;
        }
        // Views in the slots of NULLs may have any bytes.
        views.is_valid(row) && {
            let start = (*view >> 96) as u32 as usize;
            let buffer = &buffers[(*view >> 64) as u32 as usize];
            memchr::memchr(0, &buffer[start..start + length]).is_some()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_bytes_are_seen_wherever_they_stand() {
        for length in 0..40 {
            let text = "x".repeat(length);
            assert!(!any_nul(&StringViewArray::from(vec![Some(&*text), None])));
            for at in 0..length {
                let mut text = text.clone();
                text.replace_range(at..=at, "\0");
                assert!(any_nul(&StringViewArray::from(vec![None, Some(&*text)])));
            }
        }
    }
}
