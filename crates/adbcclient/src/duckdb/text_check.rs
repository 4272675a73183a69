//! A function of SQL that looks at texts before DuckDB uses them, and can refuse a row.
//!
//! It returns its first argument unchanged. So it can be wrapped around an argument of another function, which is then
//! called only with texts that passed the check: `replace(my_check(a, b, c), b, c)`.
//!
//! # Why it is sound
//!
//! DuckDB flattens the arguments of a function of its C interface, so each vector has an element of 16 bytes for each
//! row (`duckdb_string_t` in `duckdb.h`), which stays valid during the call. The function itself belongs to DuckDB,
//! which releases it by the destructor callback. No panic unwinds through DuckDB.
#![expect(unsafe_code, reason = "DuckDB calls it by its functions of C")]

use std::ffi::c_void;

use adbc_core::error::Result as AdbcResult;

use super::connection::{Link, c_text, refused};
use super::functions::{self, BLOB, Functions, Opaque, VARCHAR};
use super::table_function::guarded;

/// A function that looks at texts.
#[derive(Clone, Copy, Debug)]
pub struct TextCheck {
    /// Its name in SQL.
    pub name: &'static str,
    /// The number of its arguments.
    pub arguments: usize,
    /// True if the arguments are bytes (BLOB), false if they are texts (VARCHAR).
    pub is_of_bytes: bool,
    /// True if DuckDB must call it for each row, even if all arguments are constants.
    pub is_for_each_row: bool,
    /// Looks at the arguments of a row. It is not called for a row in which one of them is NULL.
    pub look: fn(&[&[u8]]) -> Result<(), String>,
}

impl Link {
    /// Makes a function known to all connections of the database.
    pub fn add_text_check(&self, check: TextCheck) -> AdbcResult<()> {
        let functions = self.functions();
        let name = c_text(check.name)?;
        // SAFETY: the connection is open; the handles are made and destroyed here, and DuckDB copies what they
        // describe.
        let state = unsafe {
            let mut function = (functions.create_scalar_function)();
            let mut texts = (functions.create_logical_type)(match check.is_of_bytes {
                true => BLOB,
                false => VARCHAR,
            });
            (functions.scalar_function_set_name)(function, name.as_ptr());
            for _ in 0..check.arguments {
                (functions.scalar_function_add_parameter)(function, texts);
            }
            (functions.scalar_function_set_return_type)(function, texts);
            (functions.scalar_function_set_special_handling)(function);
            if check.is_for_each_row {
                (functions.scalar_function_set_volatile)(function);
            }
            let own = Box::into_raw(Box::new(check)).cast();
            (functions.scalar_function_set_extra_info)(function, own, give_back);
            (functions.scalar_function_set_function)(function, look_at_vectors);
            let state = (functions.register_scalar_function)(self.handle(), function);
            (functions.destroy_logical_type)(&mut texts);
            (functions.destroy_scalar_function)(&mut function);
            state
        };
        match state {
            0 => Ok(()),
            _ => Err(refused("DuckDB refuses to register a function")),
        }
    }
}

unsafe extern "C" fn give_back(check: *mut c_void) {
    // SAFETY: `add_text_check` passed it to DuckDB.
    drop(unsafe { Box::from_raw(check.cast::<TextCheck>()) });
}

/// Looks at all rows of the arguments, and returns the first argument.
unsafe extern "C" fn look_at_vectors(info: Opaque, arguments: Opaque, out: Opaque) {
    let Some(functions) = functions::loaded() else {
        return;
    };
    // SAFETY: all three are valid during this call; `add_text_check` passed the check, which has the argument count.
    let looked = guarded(|| unsafe {
        let check = &*(functions.scalar_function_get_extra_info)(info).cast::<TextCheck>();
        let rows = (functions.data_chunk_get_size)(arguments) as usize;
        let vector = |column: usize| (functions.data_chunk_get_vector)(arguments, column as u64);
        let columns: Vec<Texts> = (0..check.arguments)
            .map(|column| Texts::of(functions, vector(column)))
            .collect();
        let mut row_texts = Vec::with_capacity(columns.len());
        for row in 0..rows {
            row_texts.clear();
            row_texts.extend(columns.iter().map_while(|texts| texts.get(row)));
            if row_texts.len() == columns.len() {
                (check.look)(&row_texts).map_err(|message| refused(&message))?;
            }
        }
        (functions.vector_reference_vector)(out, vector(0));
        Ok(())
    });
    if let Err(message) = looked {
        // SAFETY: DuckDB copies the text.
        unsafe { (functions.scalar_function_set_error)(info, message.as_ptr()) };
    }
}

/// The texts of a vector.
struct Texts {
    elements: *const Element,
    /// A bit for each row: 1 if the row is not NULL. The pointer itself is null if no row is NULL.
    validity: *const u64,
}

/// `duckdb_string_t`: up to 12 bytes are in the element itself. If the text is longer, the element has its first four
/// bytes and its address.
#[repr(C, align(8))]
struct Element {
    length: u32,
    rest: [u8; 12],
}

/// The most bytes that an element has in itself.
const INLINE_BYTES_MAX: usize = 12;

impl Texts {
    /// # Safety
    ///
    /// The vector is flat, has texts or bytes, and outlives the result.
    unsafe fn of(functions: &Functions, vector: Opaque) -> Texts {
        // SAFETY: the caller guarantees it.
        unsafe {
            Texts {
                elements: (functions.vector_get_data)(vector).cast_const().cast(),
                validity: (functions.vector_get_validity)(vector).cast_const(),
            }
        }
    }

    /// The text of a row; `None` if it is NULL.
    ///
    /// # Safety
    ///
    /// The vector has the row.
    unsafe fn get(&self, row: usize) -> Option<&[u8]> {
        // SAFETY: the caller guarantees it; if an element has an address, there are as many bytes as its length says.
        unsafe {
            if !self.validity.is_null() && *self.validity.add(row / 64) >> (row % 64) & 1 == 0 {
                return None;
            }
            let element = &*self.elements.add(row);
            let length = element.length as usize;
            if length <= INLINE_BYTES_MAX {
                return Some(&element.rest[..length]);
            }
            let mut address = [0; size_of::<usize>()];
            address.copy_from_slice(&element.rest[4..]);
            let address = std::ptr::with_exposed_provenance(usize::from_ne_bytes(address));
            Some(std::slice::from_raw_parts(address, length))
        }
    }
}
