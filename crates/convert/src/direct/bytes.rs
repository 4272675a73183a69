//! Bytes: views into the file's own arrays.

use std::sync::Arc;

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, FixedSizeBinaryArray};
use arrow_schema::DataType;

use super::texts::BUFFER_BYTES_MAX;

pub(super) fn array(values: &ArrayRef) -> Option<ArrayRef> {
    let views: BinaryViewArray = match values.data_type() {
        DataType::BinaryView => return Some(values.clone()),
        DataType::Binary => {
            let values = values.as_binary::<i32>();
            (values.values().len() < BUFFER_BYTES_MAX).then(|| values.into())?
        }
        DataType::LargeBinary => {
            let values = values.as_binary::<i64>();
            (values.values().len() < BUFFER_BYTES_MAX).then(|| values.into())?
        }
        DataType::FixedSizeBinary(_) => of_fixed(values.as_fixed_size_binary())?,
        _ => return None,
    };
    Some(Arc::new(views))
}

fn of_fixed(values: &FixedSizeBinaryArray) -> Option<BinaryViewArray> {
    if values.value_data().len() >= BUFFER_BYTES_MAX {
        return None;
    }
    let mut builder = BinaryViewBuilder::with_capacity(values.len());
    for value in values {
        builder.append_option(value);
    }
    Some(builder.finish())
}
