//! Compares the rows of two tables or queries, by hashes that their servers make.
//!
//! The rows are put into parts by a hash of their key, so each part has the rows of the same keys on both sides, whatever their
//! types and collations. Parts whose numbers of rows and sums of hashes differ are cut again until their rows are few enough to
//! be fetched. Each pass reads the table once, and all passes see one snapshot of each side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inrush_pgclient::quote::identifier;
use inrush_pgclient::{BlockingSession, DatabaseAddress, ResultRows};
use inrush_rows::cancel::Stop;
use inrush_rows::sql_text::{in_parentheses, without_semicolon};
use inrush_source::SourceError;

use crate::error::{input_error, of_session};
use crate::since::instant;
use crate::snapshot::{BEGIN, USER_NAMES, open_keeper};
use crate::{Rows, relations};

/// The number of parts into which a pass cuts a part.
const PARTS: u64 = 64;
/// A part with at most this number of rows, of both sides together, is compared row by row.
const ROWS_FETCHED_MAX: u64 = 20_000;
/// The most keys that a result names.
const KEYS_MAX: usize = 10;

/// The condition on the rows of a side that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A condition, as in WHERE.
    pub filter: Option<String>,
    /// A column, the smallest time in it if there is one, and the time before which all are.
    pub range: Option<(String, Option<String>, String)>,
}

impl Limits {
    fn condition(&self) -> String {
        let mut conditions = vec!["true".to_owned()];
        conditions.extend(self.filter.as_deref().map(in_parentheses));
        if let Some((column, from, below)) = &self.range {
            let column = identifier(column);
            conditions.push(format!("{column} < {}", instant(below)));
            let from = from
                .iter()
                .map(|from| format!("{column} >= {}", instant(from)));
            conditions.extend(from);
        }
        conditions.join(" AND ")
    }
}

/// One of the two sides.
pub struct Side {
    session: BlockingSession,
    /// The table or query and its server, for messages.
    name: String,
    /// What follows FROM.
    from: String,
    /// The condition on its rows.
    conditions: String,
    /// The text of a row's key in SQL; empty until sides are compared.
    key: String,
    /// The text of all compared columns of a row in SQL.
    row: String,
    /// The columns of its primary key, if it is a table with one.
    primary_key: Vec<String>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of rows of each side.
    pub rows: [u64; 2],
    /// The number of parts whose rows were fetched, because the sides differ in them.
    pub parts_different: usize,
    /// The number of rows that only the one or only the other side has, by their keys.
    pub only: [u64; 2],
    /// The number of keys whose rows have other values.
    pub changed: u64,
    /// Some of these keys, with what differs, in words.
    pub keys: Vec<String>,
}

impl Comparison {
    /// Both sides have the same rows.
    pub fn is_equal(&self) -> bool {
        self.only == [0, 0] && self.changed == 0
    }
}

/// The number of rows of a part, and the sum of their hashes.
type Sum = (u64, String);

/// A part: the remainder of the key's hash by a number.
#[derive(Clone, Copy, Debug)]
struct Part {
    modulus: u64,
    remainder: u64,
}

const ALL: Part = Part {
    modulus: 1,
    remainder: 0,
};

/// The text of columns as one value, in which each stays apart from the next.
fn texts(columns: &[String]) -> String {
    let texts: Vec<String> = columns
        .iter()
        .map(|column| format!("{}::text", identifier(column)))
        .collect();
    format!("ROW({})::text", texts.join(", "))
}

impl Side {
    /// Opens a side at a snapshot of its own.
    pub fn open(
        address: &DatabaseAddress,
        rows: &Rows,
        limits: &Limits,
        stop: &Stop,
    ) -> Result<Side, SourceError> {
        let place = address.describe();
        let failed = |error| of_session(Path::new(&place), error);
        let mut session = open_keeper(address, stop).map_err(failed)?;
        let doing = "beginning a transaction for a comparison";
        session.query(BEGIN, doing).map_err(failed)?;
        let (name, from, primary_key) = match rows {
            Rows::Table { schema, name } => {
                let table = relations::find_table(&mut session, schema.as_deref(), name)?;
                let key = relations::primary_key(&mut session, &table)?;
                (format!("{} of {place}", table.name), table.sql, key)
            }
            Rows::Query(query) => {
                let query = in_parentheses(without_semicolon(query));
                (
                    format!("the query of {place}"),
                    format!("{query} AS q"),
                    Vec::new(),
                )
            }
        };
        session.query(USER_NAMES, doing).map_err(failed)?;
        Ok(Side {
            session,
            name,
            from,
            conditions: limits.condition(),
            key: String::new(),
            row: String::new(),
            primary_key,
        })
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns of its primary key; none if it has none.
    pub fn primary_key(&self) -> &[String] {
        &self.primary_key
    }

    /// The names of its columns.
    pub fn columns(&mut self) -> Result<Vec<String>, SourceError> {
        let sql = format!("SELECT * FROM {} LIMIT 0", self.from);
        let found = self.query(&sql)?;
        Ok(found.fields.into_iter().map(|field| field.name).collect())
    }

    fn query(&mut self, sql: &str) -> Result<ResultRows, SourceError> {
        let found = self.session.query(sql, "comparing rows");
        found.map_err(|error| of_session(Path::new(&self.name), error))
    }

    /// The keys and the texts of the rows of a part.
    fn within(&self, part: Part) -> String {
        let Part { modulus, remainder } = part;
        let is_in_part = match modulus {
            1 => "true".to_owned(),
            _ => format!("{} = {remainder}", remainder_of(&self.key, modulus)),
        };
        format!(
            "SELECT {} AS k, {} AS r FROM {} WHERE {} AND {is_in_part}",
            self.key, self.row, self.from, self.conditions
        )
    }

    /// The sums of the parts of a part.
    fn sums(&mut self, within: Part) -> Result<BTreeMap<u64, Sum>, SourceError> {
        let sql = format!(
            "SELECT {}, count(*), sum(pg_catalog.hashtextextended(r, 0)::numeric) FROM ({}) AS rows GROUP BY 1",
            remainder_of("k", within.modulus * PARTS),
            self.within(within)
        );
        let found = self.query(&sql)?;
        let number = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default();
            text.parse::<u64>().map_err(|_| {
                input_error(
                    Path::new(&self.name),
                    format!("its server answered `{text}` where a number was asked for"),
                    "run the same command again",
                )
            })
        };
        let mut sums = BTreeMap::new();
        for row in &found.rows {
            let [remainder, count, sum] = &row[..] else {
                continue;
            };
            let sum = sum.clone().unwrap_or_default();
            sums.insert(number(remainder)?, (number(count)?, sum));
        }
        Ok(sums)
    }

    /// The rows of a part: hashes by keys, several where rows have the same key.
    fn rows(&mut self, part: Part) -> Result<BTreeMap<String, Vec<String>>, SourceError> {
        let sql = format!(
            "SELECT k, pg_catalog.hashtextextended(r, 0) FROM ({}) AS rows ORDER BY 2",
            self.within(part)
        );
        let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in self.query(&sql)?.rows {
            if let [Some(key), Some(hash)] = &row[..] {
                rows.entry(key.clone()).or_default().push(hash.clone());
            }
        }
        Ok(rows)
    }
}

/// The remainder of a text's hash, never negative.
fn remainder_of(text: &str, modulus: u64) -> String {
    let hash = format!("pg_catalog.hashtextextended({text}, 1)");
    format!("mod(mod({hash}, {modulus}) + {modulus}, {modulus})")
}

/// Compares the columns of two sides; `key` are those by which rows belong together.
pub fn compare(
    sides: &mut [Side; 2],
    columns: &[String],
    key: &[String],
) -> Result<Comparison, SourceError> {
    for side in &mut *sides {
        side.key = texts(key);
        side.row = texts(columns);
    }
    let mut found = Comparison::default();
    let mut left = vec![ALL];
    while let Some(within) = left.pop() {
        let [one, other] = &mut *sides;
        let (one, other) = (one.sums(within)?, other.sums(within)?);
        if within.modulus == 1 {
            let count = |sums: &BTreeMap<u64, Sum>| sums.values().map(|(count, _)| count).sum();
            found.rows = [count(&one), count(&other)];
        }
        let modulus = within.modulus * PARTS;
        let all: BTreeSet<u64> = one.keys().chain(other.keys()).copied().collect();
        for remainder in all {
            let (here, there) = (one.get(&remainder), other.get(&remainder));
            if here == there {
                continue;
            }
            let part = Part { modulus, remainder };
            let count = |sum: Option<&Sum>| sum.map_or(0, |(count, _)| *count);
            let rows = count(here) + count(there);
            // Rows of one key cannot be cut into parts.
            if rows > ROWS_FETCHED_MAX && modulus < PARTS.pow(4) {
                left.push(part);
                continue;
            }
            found.parts_different += 1;
            compare_rows(sides, part, &mut found)?;
        }
    }
    Ok(found)
}

fn compare_rows(
    sides: &mut [Side; 2],
    part: Part,
    found: &mut Comparison,
) -> Result<(), SourceError> {
    let [one, other] = &mut *sides;
    let (here, there) = (one.rows(part)?, other.rows(part)?);
    let names = [one.name.clone(), other.name.clone()];
    let mut tell = |key: &str, what: String| {
        if found.keys.len() < KEYS_MAX {
            found.keys.push(format!("{key} {what}"));
        }
    };
    let mut only = [0, 0];
    let mut changed = 0;
    for (key, hashes) in &here {
        match there.get(key) {
            None => {
                only[0] += hashes.len() as u64;
                tell(key, format!("is only in {}", names[0]));
            }
            Some(others) if others.len() != hashes.len() => {
                let (mine, theirs) = (hashes.len() as u64, others.len() as u64);
                only[0] += mine.saturating_sub(theirs);
                only[1] += theirs.saturating_sub(mine);
                tell(
                    key,
                    format!("has {mine} rows in the source and {theirs} in the target"),
                );
            }
            Some(others) if others != hashes => {
                changed += 1;
                tell(key, "has other values".to_owned());
            }
            Some(_) => {}
        }
    }
    for (key, hashes) in &there {
        if !here.contains_key(key) {
            only[1] += hashes.len() as u64;
            tell(key, format!("is only in {}", names[1]));
        }
    }
    found.only[0] += only[0];
    found.only[1] += only[1];
    found.changed += changed;
    Ok(())
}
