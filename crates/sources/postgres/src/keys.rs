//! Ranges of a key, into which a table, a view or a query is cut (`split_by`).
//!
//! The borders come from the histogram that the server has of the key's column, or from a sample. They only decide how
//! large the ranges are. With any borders, each row is in exactly one range, because the server sorts the borders in
//! the same order in which it compares the key with them.

use std::path::Path;

use inrush_pgclient::quote::{identifier, literal};
use inrush_pgclient::{BlockingSession, FieldDescription};
use inrush_rows::sql_text::in_parentheses;
use inrush_source::{KeyRanges, ProvenRanges, RangesMark, SourceError, evenly};

use crate::error::{input_error, of_session, unsuitable};
use crate::explained::Explained;
use crate::ranges;

/// The most ranges that are distinguished. A split is one or several of them.
const RANGES_MAX: usize = 512;
/// The approximate number of keys in a sample.
const SAMPLE_ROWS: u64 = 50_000;

/// The key for which ranges are wanted.
pub struct KeyAsked<'a> {
    /// The name of the input, for messages.
    pub input: &'a Path,
    /// The name of the column.
    pub column: &'a str,
    /// The text after FROM.
    pub from: &'a str,
    /// The condition on the rows.
    pub filter: Option<&'a str>,
    /// All columns of the input.
    pub fields: &'a [FieldDescription],
    /// True if the server enforces that the column has no NULL in any row.
    pub not_null: bool,
    /// True if rows whose key is NULL are read too.
    pub takes_nulls: bool,
}

/// Finds the ranges of a key. The session looks up names as the readers do.
pub fn find(
    session: &mut BlockingSession,
    asked: &KeyAsked<'_>,
    explained: &Explained,
) -> Result<KeyRanges, SourceError> {
    let found = borders(session, asked, explained, RANGES_MAX)?;
    Ok(of_borders(asked, &found))
}

/// Finds ranges of a key that a later run can use again: the ranges of an earlier run, or else new ranges for a table
/// or query of this size. The caller adds the snapshot to the returned mark.
pub fn find_lasting(
    session: &mut BlockingSession,
    asked: &KeyAsked<'_>,
    explained: &Explained,
    size_bytes: u64,
    proven: &ProvenRanges,
) -> Result<(KeyRanges, RangesMark), SourceError> {
    let finder = Finder::of(session, asked)?;
    let is_of_these =
        |ranges: &&RangesMark| ranges.of == proven.of && ranges.column == asked.column;
    for known in proven.known.iter().filter(is_of_these) {
        // The type or the collation of the key may have changed, and with it the order of the borders.
        if finder.sorted(session, &known.borders)? != known.borders {
            continue;
        }
        finder.refuse_nulls(session, explained)?;
        let found = Borders {
            texts: known.borders.clone(),
            type_name: finder.type_name,
            origin: "the ranges of an earlier run",
        };
        return Ok((of_borders(asked, &found), known.clone()));
    }
    let mut found = borders(session, asked, explained, ranges::wanted_count(size_bytes))?;
    while found.texts.iter().map(String::len).sum::<usize>() > ranges::BORDERS_BYTES_MAX {
        let fewer = found.texts.len() / 2;
        found.texts = evenly(found.texts, fewer);
    }
    let keys = of_borders(asked, &found);
    let mark = RangesMark {
        of: proven.of.clone(),
        column: asked.column.to_owned(),
        size_bytes: size_bytes.max(keys.count()),
        borders: found.texts,
        snapshot: String::new(),
    };
    Ok((keys, mark))
}

fn of_borders(asked: &KeyAsked<'_>, found: &Borders) -> KeyRanges {
    let texts = found.texts.iter();
    let border = |text| format!("{}::{}", literal(text), found.type_name);
    KeyRanges {
        column: asked.column.to_owned(),
        borders: texts.map(|text: &String| border(text)).collect(),
        takes_nulls: asked.takes_nulls,
        origin: found.origin,
    }
}

/// The expression for the text by which messages name a row: its key.
pub fn place_expression(keys: &KeyRanges) -> String {
    format!("{}::text", identifier(&keys.column))
}

/// The borders of a key's ranges.
pub struct Borders {
    /// Their texts in the order of the key, each once.
    pub texts: Vec<String>,
    /// The type of the key, as SQL names it without a modifier.
    pub type_name: String,
    /// How they were found, for people.
    pub origin: &'static str,
}

/// Finds the borders of at most this number of ranges.
pub fn borders(
    session: &mut BlockingSession,
    asked: &KeyAsked<'_>,
    explained: &Explained,
    ranges_max: usize,
) -> Result<Borders, SourceError> {
    let finder = Finder::of(session, asked)?;
    finder.refuse_nulls(session, explained)?;
    let mut origin = "the server's statistics";
    let mut found = finder.of_statistics(session)?;
    if found.is_empty() {
        origin = "a sample of the rows";
        found = finder.of_sample(session, explained.rows)?;
    }
    let sorted = finder.sorted(session, &found)?;
    Ok(Borders {
        texts: evenly(sorted, ranges_max.saturating_sub(1)),
        type_name: finder.type_name,
        origin,
    })
}

/// Looks for borders.
struct Finder<'a> {
    asked: &'a KeyAsked<'a>,
    key: String,
    /// The type of the key, as SQL names it without a modifier.
    type_name: String,
    field: &'a FieldDescription,
}

impl<'a> Finder<'a> {
    fn of(
        session: &mut BlockingSession,
        asked: &'a KeyAsked<'a>,
    ) -> Result<Finder<'a>, SourceError> {
        let failed = |error| of_session(asked.input, error);
        let field = asked.fields.iter().find(|field| field.name == asked.column);
        let Some(field) = field else {
            let names = asked.fields.iter().map(|field| identifier(&field.name));
            let names: Vec<String> = names.collect();
            return Err(unsuitable(
                asked.input,
                format!(
                    "it has no column {}, which `split_by` names",
                    identifier(asked.column)
                ),
                format!("its columns are {}", names.join(", ")),
            ));
        };
        // With -1, `char` and `bit` are named `bpchar` and `"bit"`. The names `character` and `bit` would mean a length
        // of 1, and would cut values.
        let named = session.query(
            &format!(
                "SELECT pg_catalog.format_type(t.oid, -1), n.nspname, t.typname, n.nspname = 'pg_catalog' \
                 FROM pg_catalog.pg_type AS t \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace WHERE t.oid = {}",
                field.type_oid
            ),
            "asking for the type of the key",
        );
        let row: Vec<String> = named.map_err(failed)?.texts();
        let type_name = match &row[..] {
            [shown, _, _, is_built_in] if is_built_in == "t" => shown.clone(),
            [_, schema, name, _] => format!("{}.{}", identifier(schema), identifier(name)),
            _ => {
                return Err(input_error(
                    asked.input,
                    "the type of its key is gone",
                    "run the same command again",
                ));
            }
        };
        let key = identifier(asked.column);
        let ordered = format!("SELECT {key} FROM {} ORDER BY {key}", asked.from);
        session
            .parse(&ordered, "looking for the order of the key")
            .map_err(|error| match &error {
                inrush_pgclient::SessionError::Client(client) => unsuitable(
                    asked.input,
                    format!("the column {key} cannot be a key of ranges: {client}"),
                    "name a column whose values have an order, or leave `split_by` out",
                ),
                inrush_pgclient::SessionError::Stopped => of_session(asked.input, error),
            })?;
        Ok(Finder {
            asked,
            key,
            type_name,
            field,
        })
    }

    /// The user's condition, combined with another one by AND.
    fn conditions(&self, other: &str) -> String {
        match self.asked.filter {
            Some(filter) => format!("{} AND {other}", in_parentheses(filter)),
            None => other.to_owned(),
        }
    }

    fn refuse_nulls(
        &self,
        session: &mut BlockingSession,
        explained: &Explained,
    ) -> Result<(), SourceError> {
        if self.asked.not_null || self.asked.takes_nulls {
            return Ok(());
        }
        let key = &self.key;
        // The planner trusts the NOT NULL of a foreign table, and would answer without reading the rows.
        let shown = match explained.has_foreign_rows {
            true => format!("{key}::text"),
            false => key.clone(),
        };
        let sql = format!(
            "SELECT EXISTS (SELECT FROM {} WHERE {})",
            self.asked.from,
            self.conditions(&format!("{shown} IS NULL"))
        );
        let texts = self.texts(session, &sql, "looking for NULLs in the key")?;
        match texts.first().map(String::as_str) {
            Some("t") => Err(input_error(
                self.asked.input,
                format!(
                    "the column {key}, which `split_by` names, is NULL in at least one row: \
                     such a row is in no range of the key"
                ),
                "name a column without NULL, or set `split_nulls = true` (--split-nulls): these rows are then read with the first range",
            )),
            _ => Ok(()),
        }
    }

    fn texts(
        &self,
        session: &mut BlockingSession,
        sql: &str,
        doing: &str,
    ) -> Result<Vec<String>, SourceError> {
        let found = session
            .query(sql, doing)
            .map_err(|error| of_session(self.asked.input, error))?;
        Ok(found.texts())
    }

    /// Keys from the server's statistics of the column: the bounds of its histogram without the first and the last, or
    /// its most common values if no bounds are left.
    fn of_statistics(&self, session: &mut BlockingSession) -> Result<Vec<String>, SourceError> {
        let FieldDescription {
            table_oid,
            column_number,
            ..
        } = self.field;
        if *table_oid == 0 {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT bound FROM ( \
               SELECT s.histogram_bounds::text::text[] AS bounds, s.most_common_vals::text::text[] AS common \
               FROM pg_catalog.pg_class AS c \
               JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
               JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = {column_number} \
               JOIN pg_catalog.pg_stats AS s \
                 ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname \
               WHERE c.oid = {table_oid} ORDER BY s.inherited DESC LIMIT 1 \
             ) AS s, \
             LATERAL pg_catalog.unnest( \
               CASE WHEN pg_catalog.cardinality(bounds) > 2 \
                    THEN bounds[2 : pg_catalog.cardinality(bounds) - 1] ELSE common END \
             ) AS bound"
        );
        self.texts(session, &sql, "asking for the statistics of the key")
    }

    /// Keys of a sample, in their order.
    fn of_sample(
        &self,
        session: &mut BlockingSession,
        rows: u64,
    ) -> Result<Vec<String>, SourceError> {
        let doing = "reading a sample of the keys";
        let key = &self.key;
        // With a fixed seed, the same rows give the same sample.
        self.texts(session, "SELECT pg_catalog.setseed(0.5)", doing)?;
        let share = SAMPLE_ROWS as f64 / rows.max(1) as f64;
        let chosen = match share < 1.0 {
            true => format!("{key} IS NOT NULL AND pg_catalog.random() < {share:.9}"),
            false => format!("{key} IS NOT NULL"),
        };
        let sql = format!(
            "SELECT k::text AS shown FROM ( \
               SELECT k, pg_catalog.row_number() OVER (ORDER BY k) AS number, \
                      pg_catalog.count(*) OVER () / {RANGES_MAX} + 1 AS step \
               FROM (SELECT {key} AS k FROM {} WHERE {} LIMIT {}) AS sampled \
             ) AS numbered WHERE number > 1 AND number % step = 0 ORDER BY number",
            self.asked.from,
            self.conditions(&chosen),
            SAMPLE_ROWS * 4
        );
        self.texts(session, &sql, doing)
    }

    /// Each of the keys once, in the order in which the server compares them with the column.
    fn sorted(
        &self,
        session: &mut BlockingSession,
        keys: &[String],
    ) -> Result<Vec<String>, SourceError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let values: Vec<String> = keys
            .iter()
            .map(|text| format!("({})", literal(text)))
            .collect();
        // The first part of the UNION has no rows; its column gives the collation. `sorted.k` is the key itself: its
        // text may have another order.
        let sql = format!(
            "SELECT k::text AS shown FROM ( \
               SELECT {key} AS k FROM {from} WHERE false \
               UNION SELECT v::{type_name} FROM (VALUES {values}) AS given (v) \
             ) AS sorted WHERE k IS NOT NULL ORDER BY sorted.k",
            key = self.key,
            from = self.asked.from,
            type_name = self.type_name,
            values = values.join(", ")
        );
        self.texts(session, &sql, "sorting the borders of the key's ranges")
    }
}
