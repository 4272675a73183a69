//! The account of rows: where each row that was read has gone.

use inrush_rows::ids::UnitKey;
use serde::{Deserialize, Serialize};

use crate::split_record::SplitRecord;

/// The account of rows and bytes. It always holds that read + added = loaded + rejected + skipped + filtered.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Account {
    /// The rows of the input, including skipped lines.
    pub rows_read: u64,
    /// Rows that are in the destination.
    pub rows_loaded: u64,
    /// Rows that could not be loaded.
    pub rows_rejected: u64,
    /// Blank lines, comments, COPY's end-of-data marker.
    pub rows_skipped: u64,
    /// Rows that a step of the flow left out: a condition, or one that keeps the first of several rows.
    #[serde(default)]
    pub rows_filtered: u64,
    /// Rows that the flow made in addition to those read: one row that becomes three adds two.
    #[serde(default)]
    pub rows_added: u64,
    /// Bytes of text read, after decompression.
    pub bytes_read: u64,
}

impl Account {
    /// Adds another account to this one.
    pub fn add(&mut self, other: &Account) {
        self.rows_read += other.rows_read;
        self.rows_loaded += other.rows_loaded;
        self.rows_rejected += other.rows_rejected;
        self.rows_skipped += other.rows_skipped;
        self.rows_filtered += other.rows_filtered;
        self.rows_added += other.rows_added;
        self.bytes_read += other.bytes_read;
    }

    /// The account of these splits.
    pub fn of_splits<'a>(splits: impl IntoIterator<Item = &'a SplitRecord>) -> Account {
        let mut account = Account::default();
        for split in splits {
            account.add(&split.account);
        }
        account
    }

    /// The account of those splits that belong to one unit.
    pub fn of_unit(splits: &[SplitRecord], unit_key: &UnitKey) -> Account {
        Account::of_unit_in(splits, unit_key)
    }

    /// Like [`Account::of_unit`], for splits from any iterator.
    pub fn of_unit_in<'a>(
        splits: impl IntoIterator<Item = &'a SplitRecord>,
        unit_key: &UnitKey,
    ) -> Account {
        let splits = splits.into_iter();
        Account::of_splits(splits.filter(|split| split.unit_key == *unit_key))
    }

    /// The left side of the account: rows that were read, and rows that were added to them.
    pub fn rows_in(&self) -> u64 {
        sum(&[self.rows_read, self.rows_added]).unwrap_or(u64::MAX)
    }

    /// The right side of the account: loaded, rejected, skipped and filtered rows.
    pub fn rows_out(&self) -> u64 {
        sum(&self.ends()).unwrap_or(u64::MAX)
    }

    /// True if every row is accounted for. An account whose numbers overflow does not hold.
    pub fn holds(&self) -> bool {
        let rows_in = sum(&[self.rows_read, self.rows_added]);
        rows_in.is_some() && rows_in == sum(&self.ends())
    }

    /// Both sides in words: `10 read` and `7 loaded + 2 rejected + 1 skipped`. Rows that were added or filtered are
    /// named if there are any. `number` writes a number.
    pub fn sides(&self, number: impl Fn(u64) -> String) -> [String; 2] {
        let side = |parts: &[(u64, &str, bool)]| {
            let named = parts
                .iter()
                .filter(|(count, _, always)| *always || *count > 0);
            let words: Vec<String> = named
                .map(|(count, word, _)| format!("{} {word}", number(*count)))
                .collect();
            words.join(" + ")
        };
        [
            side(&[
                (self.rows_read, "read", true),
                (self.rows_added, "added", false),
            ]),
            side(&[
                (self.rows_loaded, "loaded", true),
                (self.rows_rejected, "rejected", true),
                (self.rows_skipped, "skipped", true),
                (self.rows_filtered, "filtered", false),
            ]),
        ]
    }

    fn ends(&self) -> [u64; 4] {
        [
            self.rows_loaded,
            self.rows_rejected,
            self.rows_skipped,
            self.rows_filtered,
        ]
    }
}

/// The sum; `None` if it overflows.
fn sum(parts: &[u64]) -> Option<u64> {
    parts
        .iter()
        .try_fold(0_u64, |sum, part| sum.checked_add(*part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any account that holds: each row that is read or added has one outcome.
    fn holding() -> impl Strategy<Value = Account> {
        let parts = (
            0..1_u64 << 40,
            0..1_u64 << 40,
            0..1_u64 << 40,
            0..1_u64 << 40,
        );
        (parts, 0.0..=1.0, 0..1_u64 << 40).prop_map(|(parts, share, bytes_read)| {
            let (rows_loaded, rows_rejected, rows_skipped, rows_filtered) = parts;
            let rows_in = rows_loaded + rows_rejected + rows_skipped + rows_filtered;
            let rows_added = (rows_in as f64 * share) as u64;
            Account {
                rows_read: rows_in - rows_added,
                rows_loaded,
                rows_rejected,
                rows_skipped,
                rows_filtered,
                rows_added,
                bytes_read,
            }
        })
    }

    /// Each number of rows, by its position.
    fn number(account: &mut Account, place: usize) -> &mut u64 {
        match place {
            0 => &mut account.rows_read,
            1 => &mut account.rows_loaded,
            2 => &mut account.rows_rejected,
            3 => &mut account.rows_skipped,
            4 => &mut account.rows_filtered,
            _ => &mut account.rows_added,
        }
    }

    proptest! {
        #[test]
        fn sums_of_accounts_that_hold_hold(accounts in prop::collection::vec(holding(), 0..20)) {
            let mut whole = Account::default();
            for account in &accounts {
                prop_assert!(account.holds());
                prop_assert_eq!(account.rows_in(), account.rows_out());
                whole.add(account);
            }
            prop_assert!(whole.holds());
            let rows = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
            prop_assert_eq!(whole.rows_in(), rows(Account::rows_in));
            prop_assert_eq!(whole.rows_out(), rows(Account::rows_out));
            prop_assert_eq!(whole.bytes_read, rows(|account| account.bytes_read));
        }

        #[test]
        fn one_wrong_number_is_found(
            account in holding(), place in 0..6_usize, wrong in any::<u64>(),
        ) {
            let mut harmed = account;
            let harmed_number = number(&mut harmed, place);
            prop_assume!(*harmed_number != wrong);
            *harmed_number = wrong;
            prop_assert!(!harmed.holds(), "{harmed:?}");
        }

        #[test]
        fn it_comes_back_from_a_record(account in holding()) {
            let text = serde_json::to_string(&account).expect("an account is JSON");
            let read: Account = serde_json::from_str(&text).expect("the same form");
            prop_assert_eq!(read, account);
        }
    }

    #[test]
    fn numbers_that_overflow_do_not_hold() {
        let account = Account {
            rows_read: 1,
            rows_loaded: u64::MAX,
            rows_rejected: 2,
            ..Account::default()
        };
        assert!(!account.holds());
        assert_eq!((account.rows_in(), account.rows_out()), (1, u64::MAX));
    }

    #[test]
    fn records_of_before_rows_were_filtered_are_read() {
        let text =
            r#"{"rows_read":9,"rows_loaded":6,"rows_rejected":2,"rows_skipped":1,"bytes_read":70}"#;
        let account: Account = serde_json::from_str(text).expect("the old form");
        assert!(account.holds());
        assert_eq!((account.rows_filtered, account.rows_added), (0, 0));
    }

    #[test]
    fn the_sides_name_what_there_is() {
        let mut account = Account {
            rows_read: 1_000,
            rows_loaded: 990,
            rows_skipped: 10,
            ..Account::default()
        };
        let sides = |account: &Account| account.sides(|number| number.to_string()).join(" = ");
        assert_eq!(
            sides(&account),
            "1000 read = 990 loaded + 0 rejected + 10 skipped"
        );
        account.rows_added = 5;
        account.rows_filtered = 5;
        assert_eq!(
            sides(&account),
            "1000 read + 5 added = 990 loaded + 0 rejected + 10 skipped + 5 filtered"
        );
    }
}
