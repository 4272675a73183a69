//! Names of indexes as the server chooses them if no name is given.
//!
//! Follows `makeObjectName`, `ChooseIndexNameAddition` and `ChooseRelationName` of PostgreSQL.

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;

use crate::quote::cut;

/// The kind of an index. It decides the last word of the index's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// The index of a primary key.
    PrimaryKey,
    /// The index of a unique constraint.
    UniqueConstraint,
    /// The index of an exclusion constraint.
    Exclusion,
    /// An index without a constraint.
    Plain,
}

impl IndexKind {
    /// The kind by the constraint's letter in `pg_constraint`.
    pub fn of_constraint(contype: Option<&str>) -> IndexKind {
        match contype {
            Some("p") => IndexKind::PrimaryKey,
            Some("u") => IndexKind::UniqueConstraint,
            Some("x") => IndexKind::Exclusion,
            _ => IndexKind::Plain,
        }
    }

    fn label(self) -> &'static str {
        match self {
            IndexKind::PrimaryKey => "pkey",
            IndexKind::UniqueConstraint => "key",
            IndexKind::Exclusion => "excl",
            IndexKind::Plain => "idx",
        }
    }
}

/// The first free name for an index of `table`; `columns` are the names of the index's own columns.
pub fn free_name(
    table: &str,
    columns: &[String],
    kind: IndexKind,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let columns = match kind {
        IndexKind::PrimaryKey => String::new(),
        _ => joined(columns),
    };
    let numbered = |number: u32| match number {
        0 => object_name(table, &columns, kind.label()),
        _ => object_name(table, &columns, &format!("{}{number}", kind.label())),
    };
    // There are fewer relations than numbers.
    (0..u32::MAX)
        .map(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_else(|| numbered(u32::MAX))
}

/// The names of an index's columns in its own name: not all of them, if they are long.
fn joined(columns: &[String]) -> String {
    let mut joined = String::new();
    for column in columns {
        if !joined.is_empty() {
            joined.push('_');
        }
        joined.push_str(column);
        if joined.len() > POSTGRES_NAME_BYTES_MAX {
            break;
        }
    }
    joined
}

/// The name `table_columns_label`. The longer of `table` and `columns` is cut until the name fits.
fn object_name(table: &str, columns: &str, label: &str) -> String {
    let overhead = 1 + label.len() + usize::from(!columns.is_empty());
    let room = POSTGRES_NAME_BYTES_MAX - overhead;
    let (mut first, mut second) = (table.len(), columns.len());
    while first + second > room {
        match first > second {
            true => first -= 1,
            false => second -= 1,
        }
    }
    let (first, second) = (cut(table, first), cut(columns, second));
    match second {
        "" => format!("{first}_{label}"),
        _ => format!("{first}_{second}_{label}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(table: &str, columns: &[&str], kind: IndexKind, taken: &[&str]) -> String {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        free_name(table, &columns, kind, |name| taken.contains(&name))
    }

    #[test]
    fn each_kind_has_its_label_and_taken_names_get_a_number() {
        let name = |kind| named("t", &["a", "b"], kind, &[]);
        assert_eq!(name(IndexKind::PrimaryKey), "t_pkey");
        assert_eq!(name(IndexKind::UniqueConstraint), "t_a_b_key");
        assert_eq!(name(IndexKind::Exclusion), "t_a_b_excl");
        assert_eq!(name(IndexKind::Plain), "t_a_b_idx");
        let taken = ["t_a_idx", "t_a_idx1"];
        assert_eq!(named("t", &["a"], IndexKind::Plain, &taken), "t_a_idx2");
    }

    #[test]
    fn the_longer_part_is_cut_between_characters() {
        let (table, column) = ("t".repeat(40), "c".repeat(30));
        assert_eq!(
            named(&table, &[&column], IndexKind::Plain, &[]),
            format!("{}_{}_idx", "t".repeat(29), "c".repeat(29))
        );
        let table = "ö".repeat(31);
        assert_eq!(
            named(&table, &[], IndexKind::PrimaryKey, &[]),
            format!("{}_pkey", "ö".repeat(29))
        );
    }
}
