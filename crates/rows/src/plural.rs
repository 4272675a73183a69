//! Nouns after a number, in errors, plans and guesses, which write `1234 rows`. Accounts and verdicts write `1,234 rows`
//! by [`quantity`](crate::quantity).

/// `1 row`, `2 rows`.
pub fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// `1 digit follows`, `2 digits follow`: a number, a noun and a verb.
pub fn counted_do(count: u64, what: &str, does: &str) -> String {
    match count {
        1 => format!("1 {what} {does}s"),
        count => format!("{count} {what}s {does}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(0, "row"), "0 rows");
        assert_eq!(counted(1, "row"), "1 row");
        assert_eq!(counted(2, "row"), "2 rows");
        assert_eq!(counted_do(1, "digit", "follow"), "1 digit follows");
        assert_eq!(counted_do(0, "digit", "follow"), "0 digits follow");
    }
}
