//! The splits of a comparison: ranges of values that both sides evaluate by the same SQL, so that a row and its counterpart
//! are in the same split.
//!
//! They are the partitions of the source, if these are ranges or lists of single columns of the key, or else ranges of a
//! column of the key. Texts are compared by their bytes, because the collations of two servers may differ.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_pgclient::FieldDescription;
use inrush_pgclient::foreign_sql::{BoundValues, bound_values};
use inrush_pgclient::quote::{identifier, literal};
use inrush_rows::sql_text::take_identifier;
use inrush_source::{SourceError, TablePartition};

use crate::compare::Side;
use crate::explained::Explained;
use crate::keys::{self, KeyAsked};
use crate::structure;

/// The split number of rows that are in no split.
const OTHERS: i64 = -1;
/// The approximate number of rows in a range.
const RANGE_ROWS: u64 = 10_000;
/// The most ranges.
const RANGES_MAX: u64 = 64;
/// The most partitions: each row is compared with their bounds, one after the other.
const PARTITIONS_MAX: usize = 200;

/// An order of values on which two servers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOrder {
    /// The order of the type.
    Own,
    /// The order of the bytes of the text.
    Bytes,
}

/// The order of a type's values by its OID; `None` if it is not known here.
fn order_of(type_oid: u32) -> Option<KeyOrder> {
    match type_oid {
        // smallint, integer, bigint, oid, numeric, date, time, timestamp, timestamptz, uuid
        21 | 23 | 20 | 26 | 1700 | 1082 | 1083 | 1114 | 1184 | 2950 => Some(KeyOrder::Own),
        // text, varchar
        25 | 1043 => Some(KeyOrder::Bytes),
        _ => None,
    }
}

/// A column in SQL, in its order.
fn in_order(column: &str, order: KeyOrder) -> String {
    match order {
        KeyOrder::Own => identifier(column),
        KeyOrder::Bytes => format!("{}::text COLLATE \"C\"", identifier(column)),
    }
}

/// The splits of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    /// The number of a row's split in SQL.
    pub expression: String,
    /// The name and the condition of each split, by its number.
    splits: Vec<(String, Option<String>)>,
    /// The name for rows that are in none of the splits.
    others: String,
}

impl Splits {
    /// Finds splits by columns of the key, all of which have the same type on both sides.
    pub fn find(
        source: &mut Side,
        fields: &[FieldDescription],
        there: &[FieldDescription],
        key: &[String],
    ) -> Result<Splits, SourceError> {
        let orders: BTreeMap<&str, KeyOrder> = key
            .iter()
            .filter_map(|name| {
                let here = fields.iter().find(|field| field.name == *name)?;
                let there = there.iter().find(|field| field.name == *name)?;
                let order = order_of(here.type_oid)?;
                (here.type_oid == there.type_oid).then_some((name.as_str(), order))
            })
            .collect();
        if let Some(splits) = of_partitions(source, &orders)? {
            return Ok(splits);
        }
        let first = key.iter().find(|name| orders.contains_key(name.as_str()));
        match first {
            Some(column) => of_ranges(source, fields, column, orders[column.as_str()]),
            None => Ok(Splits::whole()),
        }
    }

    /// One split with all rows.
    fn whole() -> Splits {
        Splits {
            expression: "0".to_owned(),
            splits: vec![("all rows".to_owned(), Some("true".to_owned()))],
            others: String::new(),
        }
    }

    /// The number of splits.
    pub fn count(&self) -> usize {
        self.splits.len()
    }

    /// The name of a split.
    pub fn name(&self, number: i64) -> String {
        let named = usize::try_from(number)
            .ok()
            .and_then(|at| self.splits.get(at));
        named.map_or_else(|| self.others.clone(), |(name, _)| name.clone())
    }

    /// The condition of the rows of a split.
    pub fn condition(&self, number: i64) -> String {
        let named = usize::try_from(number)
            .ok()
            .and_then(|at| self.splits.get(at));
        match named {
            Some((_, Some(condition))) => condition.clone(),
            _ => format!("({}) = {number}", self.expression),
        }
    }
}

/// Splits that are the partitions of the source, if their keys are among the columns in `orders`.
fn of_partitions(
    source: &mut Side,
    orders: &BTreeMap<&str, KeyOrder>,
) -> Result<Option<Splits>, SourceError> {
    let Some(table) = source.table.clone() else {
        return Ok(None);
    };
    let found = source
        .in_catalog(|session| structure::partitions_of(session, &table, &mut BTreeMap::new()))?;
    let Some(found) = found else {
        return Ok(None);
    };
    let mut tree = Tree {
        orders,
        splits: Vec::new(),
    };
    let expression = tree.level(&found.partition_by, &found.partitions, &[]);
    let splits = tree.splits;
    Ok(expression
        .filter(|_| (1..=PARTITIONS_MAX).contains(&splits.len()))
        .map(|expression| Splits {
            expression,
            splits,
            others: "rows of no partition".to_owned(),
        }))
}

/// Partitions that become splits.
struct Tree<'a> {
    orders: &'a BTreeMap<&'a str, KeyOrder>,
    splits: Vec<(String, Option<String>)>,
}

impl Tree<'_> {
    /// The number of a row's split in SQL, among partitions of a level and those below them. `path` are the conditions of the
    /// levels above. `None` if a key is not a single column with a known order.
    fn level(
        &mut self,
        partition_by: &str,
        partitions: &[TablePartition],
        path: &[Option<String>],
    ) -> Option<String> {
        let (column, is_list) = key_of(partition_by)?;
        let order = *self.orders.get(column.as_str())?;
        let key = in_order(&column, order);
        let mut whens = Vec::new();
        let mut default = OTHERS.to_string();
        for partition in partitions {
            let condition = match (bound_values(&partition.bound)?, is_list) {
                (BoundValues::Default, _) => None,
                (BoundValues::List(values), true) => Some(in_list(&key, &values)),
                (BoundValues::Range(lower, upper), false) => Some(in_range(&key, &lower, &upper)?),
                _ => return None,
            };
            let mut path = path.to_vec();
            // In the order of bytes, ranges of texts may overlap: the first one counts.
            let is_exact = order == KeyOrder::Own || is_list;
            path.push(condition.clone().filter(|_| is_exact));
            let number = match &partition.partition_by {
                Some(below) => self.level(below, &partition.partitions, &path)?,
                None => {
                    let all: Option<Vec<String>> = path.into_iter().collect();
                    let condition = all.map(|all| all.join(" AND "));
                    let name = format!("partition {}", partition.name);
                    self.splits.push((name, condition));
                    (self.splits.len() - 1).to_string()
                }
            };
            match condition {
                Some(condition) => whens.push(format!("WHEN {condition} THEN {number}")),
                None => default = number,
            }
        }
        match whens.is_empty() {
            true => Some(default),
            false => Some(format!("CASE {} ELSE {default} END", whens.join(" "))),
        }
    }
}

/// The only column of a partition key, and whether the key is a list: `RANGE (day)`.
fn key_of(partition_by: &str) -> Option<(String, bool)> {
    let (rest, is_list) = match partition_by.strip_prefix("LIST (") {
        Some(rest) => (rest, true),
        None => (partition_by.strip_prefix("RANGE (")?, false),
    };
    let inside = rest.strip_suffix(')')?;
    if let Some((name, "")) = take_identifier(inside) {
        return Some((name, is_list));
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!inside.is_empty() && inside.chars().all(is_plain)).then(|| (inside.to_owned(), is_list))
}

fn in_list(key: &str, values: &[String]) -> String {
    let plain: Vec<&str> = values
        .iter()
        .map(String::as_str)
        .filter(|value| *value != "NULL")
        .collect();
    let mut conditions = Vec::new();
    if !plain.is_empty() {
        conditions.push(format!("{key} IN ({})", plain.join(", ")));
    }
    if plain.len() < values.len() {
        conditions.push(format!("{key} IS NULL"));
    }
    format!("({})", conditions.join(" OR "))
}

fn in_range(key: &str, lower: &[String], upper: &[String]) -> Option<String> {
    let ([lower], [upper]) = (lower, upper) else {
        return None;
    };
    let mut conditions = vec![format!("{key} IS NOT NULL")];
    if lower != "MINVALUE" {
        conditions.push(format!("{key} >= {lower}"));
    }
    if upper != "MAXVALUE" {
        conditions.push(format!("{key} < {upper}"));
    }
    Some(format!("({})", conditions.join(" AND ")))
}

/// Splits that are ranges of a column, by the statistics of the source or by a sample of its rows.
fn of_ranges(
    source: &mut Side,
    fields: &[FieldDescription],
    column: &str,
    order: KeyOrder,
) -> Result<Splits, SourceError> {
    let (name, from) = (source.name().to_owned(), source.from.clone());
    let conditions = source.conditions.clone();
    let input = Path::new(&name);
    let select = format!("SELECT * FROM {from} WHERE {conditions}");
    let (mut borders, type_name) = source.with_session(|session| {
        let explained = Explained::of(session, input, &select)?;
        let asked = KeyAsked {
            input,
            column,
            from: &from,
            filter: Some(&conditions),
            fields,
            not_null: false,
            takes_nulls: true,
        };
        let ranges = (explained.rows / RANGE_ROWS).clamp(1, RANGES_MAX);
        let found = keys::borders(session, &asked, &explained, ranges as usize)?;
        Ok((found.texts, found.type_name))
    })?;
    if order == KeyOrder::Bytes {
        borders.sort_unstable();
    }
    Ok(ranges(column, order, &borders, &type_name))
}

/// The ranges between borders in ascending order.
fn ranges(column: &str, order: KeyOrder, borders: &[String], type_name: &str) -> Splits {
    if borders.is_empty() {
        return Splits::whole();
    }
    let key = in_order(column, order);
    let type_name = match order {
        KeyOrder::Own => type_name,
        KeyOrder::Bytes => "text",
    };
    let literals: Vec<String> = borders
        .iter()
        .map(|text| format!("{}::{type_name}", literal(text)))
        .collect();
    let mut splits = Vec::with_capacity(borders.len() + 1);
    for number in 0..=borders.len() {
        let lower = number.checked_sub(1);
        let mut words = Vec::new();
        let mut conditions = Vec::new();
        if let Some(lower) = lower {
            words.push(format!("from {}", borders[lower]));
            conditions.push(format!("{key} >= {}", literals[lower]));
        }
        if let Some(upper) = borders.get(number) {
            words.push(format!("below {upper}"));
            conditions.push(format!("{key} < {}", literals[number]));
        }
        splits.push((
            format!("{} {}", identifier(column), words.join(" to ")),
            Some(conditions.join(" AND ")),
        ));
    }
    Splits {
        expression: format!(
            "coalesce(pg_catalog.width_bucket({key}, ARRAY[{}]), {OTHERS})",
            literals.join(", ")
        ),
        splits,
        others: format!("{} is NULL", identifier(column)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_numbers_of_their_buckets() {
        let borders = ["5".to_owned(), "9".to_owned()];
        let splits = ranges("id", KeyOrder::Own, &borders, "integer");
        assert_eq!(
            splits.expression,
            "coalesce(pg_catalog.width_bucket(\"id\", ARRAY['5'::integer, '9'::integer]), -1)"
        );
        let names: Vec<String> = (-1..3).map(|number| splits.name(number)).collect();
        assert_eq!(
            names,
            [
                "\"id\" is NULL",
                "\"id\" below 5",
                "\"id\" from 5 to below 9",
                "\"id\" from 9"
            ]
        );
        assert_eq!(
            splits.condition(1),
            "\"id\" >= '5'::integer AND \"id\" < '9'::integer"
        );
        assert_eq!(
            splits.condition(-1),
            format!("({}) = -1", splits.expression)
        );
        assert_eq!(ranges("id", KeyOrder::Own, &[], "integer"), Splits::whole());
    }

    #[test]
    fn partitions_are_told_by_single_columns() {
        let leaf = |name: &str, bound: &str| TablePartition {
            name: name.to_owned(),
            bound: bound.to_owned(),
            ..TablePartition::default()
        };
        let partitions = [
            TablePartition {
                partition_by: Some("LIST (\"Odd\")".to_owned()),
                partitions: vec![
                    leaf("n", "FOR VALUES IN ('north', NULL)"),
                    leaf("rest", "DEFAULT"),
                ],
                ..leaf("old", "FOR VALUES FROM (MINVALUE) TO ('2024-01-01')")
            },
            leaf("new", "FOR VALUES FROM ('2024-01-01') TO (MAXVALUE)"),
        ];
        let orders = BTreeMap::from([("day", KeyOrder::Own), ("Odd", KeyOrder::Bytes)]);
        let mut tree = Tree {
            orders: &orders,
            splits: Vec::new(),
        };
        let old = "(\"day\" IS NOT NULL AND \"day\" < '2024-01-01')";
        let new = "(\"day\" IS NOT NULL AND \"day\" >= '2024-01-01')";
        let north =
            "(\"Odd\"::text COLLATE \"C\" IN ('north') OR \"Odd\"::text COLLATE \"C\" IS NULL)";
        assert_eq!(
            tree.level("RANGE (day)", &partitions, &[]).as_deref(),
            Some(&*format!(
                "CASE WHEN {old} THEN CASE WHEN {north} THEN 0 ELSE 1 END WHEN {new} THEN 2 ELSE -1 END"
            ))
        );
        assert_eq!(
            tree.splits,
            [
                ("partition n".to_owned(), Some(format!("{old} AND {north}"))),
                ("partition rest".to_owned(), None),
                ("partition new".to_owned(), Some(new.to_owned())),
            ]
        );
        for other in [
            "HASH (day)",
            "RANGE (day, \"Odd\")",
            "RANGE (lower(day))",
            "LIST (other)",
        ] {
            assert_eq!(tree.level(other, &partitions, &[]), None, "{other}");
        }
    }
}
