//! Names of tables as people read them.

use inrush::package::{TableName, quoted_where_needed};
use inrush::printable::one_line;

/// A table's name with no more quotes than it needs.
pub fn readable(target: &str) -> String {
    let Ok(name) = TableName::parse(target) else {
        return one_line(target).into_owned();
    };
    let name = name
        .schema
        .iter()
        .chain([&name.name])
        .map(|part| quoted_where_needed(part))
        .collect::<Vec<String>>()
        .join(".");
    one_line(&name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_quotes_that_they_need() {
        assert_eq!(readable("\"public\".\"orders\""), "public.orders");
        assert_eq!(readable("\"public\".\"Odd Name\""), "public.\"Odd Name\"");
    }
}
