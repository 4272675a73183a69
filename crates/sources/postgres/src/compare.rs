//! Compares the rows of two tables or queries, by hashes that their servers make.
//!
//! The first pass counts and sums up the rows of each split ([`Splits`]): a partition of the source or a range of its
//! key. The rows of a split that differs are put into parts by a hash of their key, so each part has the rows of the
//! same keys on both sides. Parts whose numbers of rows or sums of hashes differ are cut again, until they have few
//! enough rows to be fetched. Each pass reads the table, or the split, once. All passes see one snapshot of each side.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inrush_pgclient::quote::identifier;
use inrush_pgclient::{BlockingSession, DatabaseAddress, FieldDescription, ResultRows};
use inrush_rows::cancel::Stop;
use inrush_rows::sql_text::{in_parentheses, without_semicolon};
use inrush_source::{Comparison, SourceError, SplitDifference, range_condition};

use crate::catalog::parse_condition;
use crate::compare_splits::Splits;
use crate::error::{input_error, of_session, unsuitable};
use crate::relations::Table;
use crate::since::instant;
use crate::snapshot::{BEGIN, CATALOG_NAMES, USER_NAMES, open_keeper};
use crate::{Rows, relations};

/// The number of parts into which a pass cuts a part.
const PARTS: u64 = 64;
/// A part with at most this number of rows, of both sides together, is compared row by row.
const ROWS_FETCHED_MAX: u64 = 20_000;

/// The condition on the rows of a side that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A condition, as in WHERE.
    pub filter: Option<String>,
    /// A column of times, the smallest time that is included (`None`: no limit), and the time before which the range
    /// ends.
    pub range: Option<(String, Option<String>, String)>,
}

impl Limits {
    fn condition(&self) -> String {
        let mut conditions = vec!["true".to_owned()];
        conditions.extend(self.filter.as_deref().map(in_parentheses));
        if let Some((column, from, below)) = &self.range {
            let column = identifier(column);
            let range = range_condition(from.as_deref(), below, |operator, mark| {
                format!("{column} {operator} {}", instant(mark))
            });
            conditions.push(range);
        }
        conditions.join(" AND ")
    }
}

/// One of the two sides.
pub struct Side {
    session: BlockingSession,
    /// The table or query and its server, for messages.
    name: String,
    /// The encoding in which its server hashes texts.
    encoding: String,
    /// The table; none for a query.
    pub(crate) table: Option<Table>,
    /// The text after FROM.
    pub(crate) from: String,
    /// The condition on its rows.
    pub(crate) conditions: String,
    /// The text of a row's key in SQL; empty until sides are compared.
    key: String,
    /// The text of all compared columns of a row in SQL.
    row: String,
    /// The columns of its primary key, if it is a table with one.
    primary_key: Vec<String>,
}

/// The number of rows of a part, and the sum of their hashes.
type Sum = (u64, String);

/// A part of a split: the rows whose key's hash has a given remainder.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    /// The condition of the split's rows.
    split: &'a str,
    modulus: u64,
    remainder: u64,
}

/// The texts of columns as one value, in which it is clear where each text ends.
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
        let (name, table, from, primary_key) = match rows {
            Rows::Table { schema, name } => {
                // Rows that a policy hides cannot be compared.
                let off = "SET LOCAL row_security = off";
                session.query(off, doing).map_err(failed)?;
                let table = relations::find_table(&mut session, schema.as_deref(), name)?;
                let key = relations::primary_key(&mut session, &table)?;
                let name = format!("{} of {place}", table.name);
                let from = table.sql.clone();
                (name, Some(table), from, key)
            }
            Rows::Query(query) => {
                let query = in_parentheses(without_semicolon(query));
                (
                    format!("the query of {place}"),
                    None,
                    format!("{query} AS q"),
                    Vec::new(),
                )
            }
        };
        let encoding = "SELECT pg_catalog.current_setting('server_encoding')";
        let encoding = session.query(encoding, doing).map_err(failed)?.first();
        session.query(USER_NAMES, doing).map_err(failed)?;
        if let Some(filter) = &limits.filter {
            parse_condition(&mut session, Path::new(&name), &from, filter)?;
        }
        Ok(Side {
            session,
            name,
            encoding: encoding.unwrap_or_default(),
            table,
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
        let fields = self.fields()?.into_iter();
        Ok(fields.map(|field| field.name).collect())
    }

    fn fields(&mut self) -> Result<Vec<FieldDescription>, SourceError> {
        let sql = format!("SELECT * FROM {} LIMIT 0", self.from);
        Ok(self.query(&sql)?.fields)
    }

    /// Uses its session, in its transaction.
    pub(crate) fn with_session<T>(
        &mut self,
        work: impl FnOnce(&mut BlockingSession) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        work(&mut self.session)
    }

    /// Uses its session with only the catalog on the search path.
    pub(crate) fn in_catalog<T>(
        &mut self,
        work: impl FnOnce(&mut BlockingSession) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.query(CATALOG_NAMES)?;
        let done = work(&mut self.session)?;
        self.query(USER_NAMES)?;
        Ok(done)
    }

    fn query(&mut self, sql: &str) -> Result<ResultRows, SourceError> {
        let found = self.session.query(sql, "comparing rows");
        found.map_err(|error| of_session(Path::new(&self.name), error))
    }

    /// The keys and the texts of the rows of a part.
    fn within(&self, part: &Part<'_>) -> String {
        let Part {
            split,
            modulus,
            remainder,
        } = *part;
        let is_in_part = match modulus {
            1 => "true".to_owned(),
            _ => format!("{} = {remainder}", remainder_of(&self.key, modulus)),
        };
        format!(
            "SELECT {} AS k, {} AS r FROM {} WHERE {} AND ({split}) AND {is_in_part}",
            self.key, self.row, self.from, self.conditions
        )
    }

    /// The sums of all splits.
    fn sums_of_splits(&mut self, splits: &Splits) -> Result<BTreeMap<i64, Sum>, SourceError> {
        let rows = format!(
            "SELECT {} AS s, {} AS r FROM {} WHERE {}",
            splits.expression, self.row, self.from, self.conditions
        );
        self.sums("s", &rows)
    }

    /// The sums of the parts into which a part is cut.
    fn sums_of_parts(&mut self, within: &Part<'_>) -> Result<BTreeMap<i64, Sum>, SourceError> {
        let rows = self.within(within);
        self.sums(&remainder_of("k", within.modulus * PARTS), &rows)
    }

    /// The number of rows, and the sum of their hashes, for each value of an expression.
    fn sums(&mut self, group: &str, rows: &str) -> Result<BTreeMap<i64, Sum>, SourceError> {
        let sql = format!(
            "SELECT {group}, count(*), sum(pg_catalog.hashtextextended(r, 0)::numeric) FROM ({rows}) AS rows GROUP BY 1"
        );
        let found = self.query(&sql)?;
        let odd = |text: &str| {
            input_error(
                Path::new(&self.name),
                format!("its server answered `{text}` where a number was asked for"),
                "run the same command again",
            )
        };
        let mut sums = BTreeMap::new();
        for row in &found.rows {
            let [group, count, sum] = &row[..] else {
                continue;
            };
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            let group = text(group).parse().map_err(|_| odd(&text(group)))?;
            let count = text(count).parse().map_err(|_| odd(&text(count)))?;
            sums.insert(group, (count, text(sum)));
        }
        Ok(sums)
    }

    /// The hashes of the rows of a part, by key. A key has several hashes if several rows have this key.
    fn rows(&mut self, part: &Part<'_>) -> Result<BTreeMap<String, Vec<String>>, SourceError> {
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

/// Compares the columns of two sides, the source first; `key` are the columns by which the rows of both sides are
/// matched.
pub fn compare(
    sides: &mut [Side; 2],
    columns: &[String],
    key: &[String],
) -> Result<Comparison, SourceError> {
    let [source, target] = &*sides;
    if source.encoding != target.encoding {
        return Err(unsuitable(
            Path::new(&source.name),
            format!(
                "its database has the encoding {}, but {} has the encoding {}, so their servers hash the same text differently",
                source.encoding, target.name, target.encoding
            ),
            "compare counts and sums by `inrush verify` without --compare",
        ));
    }
    for side in &mut *sides {
        side.key = texts(key);
        side.row = texts(columns);
    }
    let [source, target] = &mut *sides;
    let (here, there) = (source.fields()?, target.fields()?);
    let splits = Splits::find(source, &here, &there, key)?;
    let sums = [
        source.sums_of_splits(&splits)?,
        target.sums_of_splits(&splits)?,
    ];
    let count = |sums: &BTreeMap<i64, Sum>| sums.values().map(|(count, _)| count).sum();
    let mut found = Comparison {
        rows: [count(&sums[0]), count(&sums[1])],
        splits_all: splits.count(),
        ..Comparison::default()
    };
    for (number, [here, there]) in differences(&sums) {
        let mut difference = SplitDifference {
            name: splits.name(number),
            rows: [here.0, there.0],
            sums: [here.1, there.1],
            ..SplitDifference::default()
        };
        compare_split(sides, &splits.condition(number), &mut difference)?;
        found.splits.push(difference);
    }
    Ok(found)
}

/// The numbers whose sums differ, with the sums of both sides.
fn differences(sums: &[BTreeMap<i64, Sum>; 2]) -> Vec<(i64, [Sum; 2])> {
    let all: BTreeSet<i64> = sums.iter().flat_map(BTreeMap::keys).copied().collect();
    let both = all.into_iter().map(|number| {
        let of = |side: usize| {
            let sum = sums[side].get(&number).cloned();
            sum.unwrap_or_else(|| (0, "0".to_owned()))
        };
        (number, [of(0), of(1)])
    });
    both.filter(|(_, [here, there])| here != there).collect()
}

/// Finds the rows of a split that differ.
fn compare_split(
    sides: &mut [Side; 2],
    split: &str,
    found: &mut SplitDifference,
) -> Result<(), SourceError> {
    let whole = Part {
        split,
        modulus: 1,
        remainder: 0,
    };
    let mut left = vec![(whole, found.rows[0] + found.rows[1])];
    while let Some((part, rows)) = left.pop() {
        // Rows of one key cannot be cut into parts.
        if rows <= ROWS_FETCHED_MAX || part.modulus >= PARTS.pow(4) {
            compare_rows(sides, &part, found)?;
            continue;
        }
        let [one, other] = &mut *sides;
        let sums = [one.sums_of_parts(&part)?, other.sums_of_parts(&part)?];
        let modulus = part.modulus * PARTS;
        for (number, [here, there]) in differences(&sums) {
            let part = Part {
                split,
                modulus,
                remainder: number.unsigned_abs(),
            };
            left.push((part, here.0 + there.0));
        }
    }
    Ok(())
}

fn compare_rows(
    sides: &mut [Side; 2],
    part: &Part<'_>,
    found: &mut SplitDifference,
) -> Result<(), SourceError> {
    let [one, other] = &mut *sides;
    let (here, there) = (one.rows(part)?, other.rows(part)?);
    let names = [one.name.clone(), other.name.clone()];
    found.compare_rows([&here, &there], [&names[0], &names[1]]);
    Ok(())
}
