//! Finds keys without a partition before rows are sent, if the key is one column whose values Inrush compares like the
//! server.

use std::ops::RangeInclusive;

use inrush_convert::{KeySet, KeyValues};
use inrush_rows::column::{Column, ColumnType};

use super::route::RoutePlan;
use crate::catalog::TableFacts;
use crate::plan::KeyPlan;
use crate::quote::identifier;
use crate::{PostgresError, Session, ranges};

/// The keys that have a partition; `None` if only the server can tell, or if all keys have one.
pub async fn key_set(
    session: &Session,
    target: &str,
    route: &RoutePlan,
    facts: Option<&TableFacts>,
    made_key: Option<&KeyPlan>,
    columns: &[Column],
) -> Result<Option<KeySet>, PostgresError> {
    if route.nodes.iter().any(|node| node.bound == "DEFAULT") {
        return Ok(None);
    }
    let partitioning = facts.and_then(|facts| facts.partitioning.as_ref());
    let (strategy, name) = match (partitioning, made_key) {
        (Some(partitioning), _) => match partitioning.key.as_slice() {
            [Some(name)] => (partitioning.strategy, name.as_str()),
            _ => return Ok(None),
        },
        (None, Some(key)) => ('r', key.column.as_str()),
        (None, None) => return Ok(None),
    };
    let Some(column_index) = columns.iter().position(|column| column.name == name) else {
        return Ok(None);
    };
    // If the key has another collation or operator class than the column, its text has more words after the name and
    // equals neither of these texts.
    let word = if strategy == 'l' { "LIST" } else { "RANGE" };
    let plain = [
        format!("{word} ({name})"),
        format!("{word} ({})", identifier(name)),
    ];
    if !plain.contains(&route.partition_by) {
        return Ok(None);
    }
    let column_type = &columns[column_index].column_type;
    let found = match strategy {
        'r' => ranges_of(session, route, column_type)
            .await?
            .map(|values| (values, false)),
        'l' => listed(session, route, column_type, facts, name).await?,
        _ => None,
    };
    Ok(found.map(|(values, takes_null)| KeySet {
        column_index,
        values,
        takes_null,
        describe: target.to_owned(),
    }))
}

/// SQL that converts a value to the number of `KeyType::number`.
fn number(column_type: &ColumnType, value: &str) -> Option<String> {
    match column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => {
            Some(format!("({value})::int8"))
        }
        ColumnType::Date => Some(format!(
            "(CASE ({value})::date WHEN 'infinity' THEN 2147483647 \
             WHEN '-infinity' THEN (-2147483648)::int8 \
             ELSE (({value})::date - '1970-01-01'::date)::int8 END)"
        )),
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
            let type_sql = match column_type {
                ColumnType::Timestamp { .. } => "timestamp",
                _ => "timestamptz",
            };
            // The number in the server's binary form, which includes infinities.
            Some(format!(
                "('x' || encode({type_sql}_send(({value})::{type_sql}), 'hex'))::bit(64)::int8"
            ))
        }
        _ => None,
    }
}

async fn ranges_of(
    session: &Session,
    route: &RoutePlan,
    column_type: &ColumnType,
) -> Result<Option<KeyValues>, PostgresError> {
    let mut rows = Vec::with_capacity(route.nodes.len());
    for node in &route.nodes {
        let Some((lower, upper)) = ranges::parse(&node.bound) else {
            return Ok(None);
        };
        let end = |value: Option<String>| match value {
            Some(value) => number(column_type, &value),
            None => Some("NULL::int8".to_owned()),
        };
        let (Some(lower), Some(upper)) = (end(lower), end(upper)) else {
            return Ok(None);
        };
        rows.push(format!("({lower}, {upper})"));
    }
    if rows.is_empty() {
        return Ok(Some(KeyValues::numbers(Vec::new())));
    }
    let sql = format!("VALUES {}", rows.join(", "));
    let found = session
        .query(&sql, &[], "reading the partitions' bounds")
        .await?;
    let range = |row: &tokio_postgres::Row| -> RangeInclusive<i64> {
        let (lower, upper): (Option<i64>, Option<i64>) = (row.get(0), row.get(1));
        let last = match upper {
            None => i64::MAX,
            // No value is below the smallest one, so the range is empty.
            Some(i64::MIN) => return RangeInclusive::new(1, 0),
            Some(upper) => upper - 1,
        };
        lower.unwrap_or(i64::MIN)..=last
    };
    Ok(Some(KeyValues::numbers(found.iter().map(range).collect())))
}

async fn listed(
    session: &Session,
    route: &RoutePlan,
    column_type: &ColumnType,
    facts: Option<&TableFacts>,
    name: &str,
) -> Result<Option<(KeyValues, bool)>, PostgresError> {
    let is_text = match column_type {
        ColumnType::Text { blank_padded, .. } => {
            if *blank_padded || !is_deterministic(session, facts, name).await? {
                return Ok(None);
            }
            true
        }
        _ => false,
    };
    let type_sql = match column_type {
        ColumnType::Text { .. } => "text",
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => "int8",
        ColumnType::Date => "date",
        ColumnType::Timestamp { .. } => "timestamp",
        ColumnType::TimestampTz { .. } => "timestamptz",
        _ => return Ok(None),
    };
    let mut arrays = Vec::with_capacity(route.nodes.len());
    for node in &route.nodes {
        let inside = node.bound.strip_prefix("FOR VALUES IN (");
        let Some(inside) = inside.and_then(|inside| inside.strip_suffix(')')) else {
            return Ok(None);
        };
        arrays.push(format!("ARRAY[{inside}]::{type_sql}[]"));
    }
    if arrays.is_empty() {
        return Ok(None);
    }
    let value = if is_text {
        "NULL::int8".to_owned()
    } else {
        let Some(value) = number(column_type, "v") else {
            return Ok(None);
        };
        value
    };
    let sql = format!(
        "SELECT v::text, {value} FROM unnest({}) v",
        arrays.join(" || ")
    );
    let rows = session
        .query(&sql, &[], "reading the partitions' values")
        .await?;
    let mut takes_null = false;
    let mut texts = std::collections::BTreeSet::new();
    let mut numbers = Vec::new();
    for row in &rows {
        match (row.get::<_, Option<String>>(0), row.get(1)) {
            (None, _) => takes_null = true,
            (Some(text), None) => {
                texts.insert(text);
            }
            (Some(_), Some(number)) => numbers.push(number..=number),
        }
    }
    let values = if is_text {
        KeyValues::Texts(texts)
    } else {
        KeyValues::numbers(numbers)
    };
    Ok(Some((values, takes_null)))
}

/// True if two texts of a column are equal only if their bytes are equal.
async fn is_deterministic(
    session: &Session,
    facts: Option<&TableFacts>,
    name: &str,
) -> Result<bool, PostgresError> {
    let Some(facts) = facts else { return Ok(true) };
    let rows = session
        .query(
            "SELECT coalesce(bool_and(c.collisdeterministic), true) FROM pg_attribute a \
             JOIN pg_collation c ON c.oid = a.attcollation \
             WHERE a.attrelid = $1 AND a.attname::text = $2",
            &[&facts.oid, &name],
            "reading the key's collation",
        )
        .await?;
    Ok(rows[0].get(0))
}
