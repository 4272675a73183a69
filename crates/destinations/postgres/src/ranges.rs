//! Ranges of partition keys. The server compares them, because only its order counts.

use super::catalog::TableFacts;
use super::error::PostgresError;
use super::session::Session;

/// A range of keys, from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRange {
    /// Its name in messages.
    pub label: String,
    /// Its first key as an SQL expression; `None` if unbounded.
    pub lower: Option<String>,
    /// One past its last key; `None` if unbounded.
    pub upper: Option<String>,
}

/// The ranges of a table's partitions. A default partition has none.
pub fn existing(facts: &TableFacts) -> Vec<PartitionRange> {
    facts
        .partitioning
        .iter()
        .flat_map(|partitioning| &partitioning.partitions)
        .filter_map(|partition| {
            let (lower, upper) = parse(&partition.bound)?;
            Some(PartitionRange {
                label: format!("{} ({})", partition.name, partition.bound),
                lower,
                upper,
            })
        })
        .collect()
}

/// Parses `FOR VALUES FROM (a) TO (b)` of one key column, as `pg_get_expr` writes it.
pub fn parse(bound: &str) -> Option<(Option<String>, Option<String>)> {
    let inside = bound.strip_prefix("FOR VALUES FROM (")?.strip_suffix(')')?;
    let mut quoted = false;
    let middle = inside.char_indices().find_map(|(at, character)| {
        if character == '\'' {
            quoted = !quoted;
        }
        (!quoted && inside[at..].starts_with(") TO (")).then_some(at)
    })?;
    let end = |text: &str, unbounded: &str| (text != unbounded).then(|| text.to_owned());
    Some((
        end(&inside[..middle], "MINVALUE"),
        end(&inside[middle + ") TO (".len()..], "MAXVALUE"),
    ))
}

/// How far new ranges cover an existing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Whole,
    /// This range alone covers a part of it; the rest is not covered.
    Partly(String),
}

/// For each range of `existing` (by index) that overlaps ranges of `asked`, how far they cover it. The ranges of
/// `asked` do not overlap each other.
pub async fn coverage(
    session: &Session,
    comparable_type: &str,
    asked: &[PartitionRange],
    existing: &[PartitionRange],
) -> Result<Vec<(usize, Coverage)>, PostgresError> {
    if asked.is_empty() || existing.is_empty() {
        return Ok(Vec::new());
    }
    // Ranges that follow each other without a gap are joined.
    let sql = format!(
        "WITH a (label, lower, upper) AS (VALUES {}), e (label, lower, upper) AS (VALUES {}), \
         ordered AS (SELECT *, row_number() OVER w AS n, lag(upper) OVER w AS before \
                     FROM a WINDOW w AS (ORDER BY lower NULLS FIRST)), \
         numbered AS (SELECT *, sum(CASE WHEN n > 1 AND before = lower THEN 0 ELSE 1 END) \
                                OVER (ORDER BY n) AS run FROM ordered), \
         whole AS (SELECT f.lower, l.upper FROM numbered f JOIN numbered l USING (run) \
                   WHERE f.n = (SELECT min(n) FROM numbered x WHERE x.run = f.run) \
                     AND l.n = (SELECT max(n) FROM numbered x WHERE x.run = f.run)), \
         met AS (SELECT number, e.lower, e.upper, min(a.label) AS asked \
                 FROM (SELECT *, row_number() OVER () - 1 AS number FROM e) e JOIN a \
                   ON (a.lower IS NULL OR e.upper IS NULL OR a.lower < e.upper) \
                  AND (a.upper IS NULL OR e.lower IS NULL OR e.lower < a.upper) \
                 GROUP BY 1, 2, 3) \
         SELECT number::int8, asked, EXISTS (SELECT FROM whole w WHERE \
                  (w.lower IS NULL OR w.lower <= met.lower) \
                  AND (w.upper IS NULL OR met.upper <= w.upper)) \
         FROM met ORDER BY 1",
        values(comparable_type, asked),
        values(comparable_type, existing)
    );
    let rows = session
        .query(&sql, &[], "comparing partition bounds")
        .await?;
    Ok(rows
        .iter()
        .map(|row| {
            let coverage = match row.get(2) {
                true => Coverage::Whole,
                false => Coverage::Partly(row.get(1)),
            };
            (row.get::<_, i64>(0) as usize, coverage)
        })
        .collect())
}

/// The first range of `asked` that overlaps one of `existing`, and the range that it overlaps.
pub async fn overlap(
    session: &Session,
    comparable_type: &str,
    asked: &[PartitionRange],
    existing: &[PartitionRange],
) -> Result<Option<(String, String)>, PostgresError> {
    if asked.is_empty() || existing.is_empty() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT a.label, e.label \
         FROM (VALUES {}) a (label, lower, upper), (VALUES {}) e (label, lower, upper) \
         WHERE (a.lower IS NULL OR e.upper IS NULL OR a.lower < e.upper) \
           AND (a.upper IS NULL OR e.lower IS NULL OR e.lower < a.upper) \
         LIMIT 1",
        values(comparable_type, asked),
        values(comparable_type, existing)
    );
    let rows = session
        .query(&sql, &[], "comparing partition bounds")
        .await?;
    Ok(rows.first().map(|row| (row.get(0), row.get(1))))
}

fn values(comparable_type: &str, ranges: &[PartitionRange]) -> String {
    let end = |value: &Option<String>| {
        format!("{}::{comparable_type}", value.as_deref().unwrap_or("NULL"))
    };
    ranges
        .iter()
        .map(|range| {
            format!(
                "({}, {}, {})",
                crate::quote::literal(&range.label),
                end(&range.lower),
                end(&range.upper)
            )
        })
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::parse;

    macro_rules! parses {
        ($($name:ident: $bound:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let expected: Option<(Option<&str>, Option<&str>)> = $expected;
                let found = parse($bound);
                let found = found
                    .as_ref()
                    .map(|(lower, upper)| (lower.as_deref(), upper.as_deref()));
                assert_eq!(found, expected);
            }
        )*};
    }

    parses! {
        integers: "FOR VALUES FROM ('1') TO ('100')" => Some((Some("'1'"), Some("'100'")));
        unbounded: "FOR VALUES FROM (MINVALUE) TO ('a')" => Some((None, Some("'a'")));
        upwards: "FOR VALUES FROM (0) TO (MAXVALUE)" => Some((Some("0"), None));
        odd_text: "FOR VALUES FROM (') TO (''') TO ('z')" => Some((Some("') TO ('''"), Some("'z'")));
        default: "DEFAULT" => None;
    }
}
