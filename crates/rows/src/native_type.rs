//! Values that a database sends and receives in its own binary form. No code of Inrush reads them.
//!
//! A source offers such values with the [form](NativeType::form) that they have. They can be loaded only by a destination
//! that has a column of exactly this form, and their bytes pass unchanged.

/// The type of a column whose values are in a database's own binary form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeType {
    /// The kind of database and the whole definition of the type. Values pass between two columns if their forms are
    /// equal.
    pub form: String,
    /// The additional limit of the column (a length, a precision), as the database's own number; `None` if there is
    /// none.
    pub limit: Option<i32>,
    /// The type as SQL names it, for people and for a new target.
    pub sql: String,
    /// How to write the column in a list of columns, to read the database's text of its values instead: `tags::text`.
    pub as_text: String,
}

impl NativeType {
    /// True if values of a column with this type can be stored unchanged in a column with the other type.
    pub fn fits_in(&self, form: &str, limit: Option<i32>) -> bool {
        self.form == form && (limit.is_none() || limit == self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_the_same_or_there_is_none() {
        let bits = NativeType {
            form: "postgresql bit".to_owned(),
            limit: Some(8),
            sql: "bit(8)".to_owned(),
            as_text: String::new(),
        };
        let fits = [None, Some(8), Some(9)].map(|limit| bits.fits_in("postgresql bit", limit));
        assert_eq!(fits, [true, true, false]);
        assert!(!bits.fits_in("postgresql varbit", Some(8)));
    }
}
