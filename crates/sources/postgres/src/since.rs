//! The range of an incremental load: which bound is safe, and the condition on the rows.
//!
//! # Why no row is lost
//!
//! A row counts as loaded once the mark is above its value, so a row with a smaller value must not be committed later. A value
//! that was taken in its own transaction, such as `now()`, is not before the start of this transaction. So the values of
//! all uncommitted rows are at or after the start of the oldest open transaction. That start is the bound; it is asked for
//! before the snapshot is taken, so all transactions that have ended since are in the snapshot.
//!
//! A transaction's start time is taken a little before other sessions can see the transaction. So the bound is at
//! least [`UNSEEN`] earlier than the query.
//!
//! A column such as `timestamptz(0)` rounds its values, possibly to a time before that start. So the bound is lowered
//! by half of the column's last digit.
//!
//! This holds for one server's clock, and for values of the type `timestamptz`. The docs (docs/design/incremental.md) say what
//! is refused, and why.

use std::path::Path;

use inrush_pgclient::BlockingSession;
use inrush_pgclient::quote::{identifier, literal};
use inrush_rows::sql_text::in_parentheses;
use inrush_source::{BoundBy, ColumnOfSince, FoundRange, Since, SourceError, range_condition};

use crate::error::{input_error, of_session, of_written, unsuitable};
use crate::explained::Explained;
use crate::read_relations::ReadRelations;
use crate::relations::{self, Relation, Table};
use crate::snapshot::{CATALOG_NAMES, USER_NAMES};

/// The longest time from the start of a transaction until other sessions see it, in SQL.
const UNSEEN: &str = "interval '1 second'";
/// The digits of a second's fraction that a timestamp has, if its type does not say fewer.
const MICROSECOND_DIGITS: u32 = 6;
/// The type `timestamptz`.
const TIMESTAMPTZ_OID: u32 = 1184;

/// The bound below which all rows are committed.
#[derive(Clone, Debug)]
pub struct Bound {
    below: String,
    held_by: Option<String>,
}

impl Bound {
    /// The bound for values that a column has rounded to this many digits of a second: such a value may be earlier than
    /// the original time, by up to half of the last digit.
    fn before_rounding(
        &self,
        session: &mut BlockingSession,
        digits: Option<u32>,
        input: &Path,
    ) -> Result<Bound, SourceError> {
        let Some(digits) = digits.filter(|digits| *digits < MICROSECOND_DIGITS) else {
            return Ok(self.clone());
        };
        let microseconds = 10_u32.pow(MICROSECOND_DIGITS - digits) / 2;
        let below = format!(
            "{} - interval '{microseconds} microseconds'",
            instant(&self.below)
        );
        let sql = format!("SELECT {}", moment(&below));
        let found = session.query(&sql, "lowering the bound by the rounding of the column");
        let found = found.map_err(|error| of_session(input, error))?;
        Ok(Bound {
            below: found.first().unwrap_or_else(|| self.below.clone()),
            held_by: self.held_by.clone(),
        })
    }
}

/// A moment in the form of marks.
fn moment(expression: &str) -> String {
    format!("to_char(({expression}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
}

/// Asks for the bound, outside of a transaction and before the snapshot is taken.
pub fn find_bound(
    session: &mut BlockingSession,
    by: &BoundBy,
    table: Option<&Table>,
    read: &ReadRelations,
    input: &Path,
) -> Result<Bound, SourceError> {
    let doing = "asking which rows are committed";
    let failed = |error| of_session(input, error);
    let later = [
        (&read.materialized, "materialized view"),
        (&read.foreign, "foreign table"),
    ];
    for (name, kind) in later {
        if let Some(name) = name {
            return Err(unsuitable(
                input,
                format!(
                    "its rows come from the {kind} {name}, which gets them later than their values say"
                ),
                "read the table behind it with `since`, or load all rows without it",
            ));
        }
    }
    let standby = "SELECT pg_is_in_recovery()";
    let is_standby = session.query(standby, doing).map_err(failed)?.first();
    let is_standby = is_standby.as_deref() == Some("t");
    match by {
        BoundBy::Lag(lag) => with_lag(session, lag, is_standby, input),
        BoundBy::Committed if is_standby => Err(input_error(
            input,
            "the server is a standby, which does not know the open transactions of its primary",
            "read from the primary, or set `lag` in `since`, such as lag = \"5 minutes\"",
        )),
        BoundBy::Committed => oldest_transaction(session, table, read, input),
    }
}

/// The bound if `lag` says how long a transaction takes at most.
fn with_lag(
    session: &mut BlockingSession,
    lag: &str,
    is_standby: bool,
    input: &Path,
) -> Result<Bound, SourceError> {
    // A standby has what its primary had committed at the last replayed commit.
    let now = match is_standby {
        true => "least(statement_timestamp(), pg_last_xact_replay_timestamp())",
        false => "statement_timestamp()",
    };
    let known = match is_standby {
        true => "pg_last_xact_replay_timestamp() IS NOT NULL",
        false => "true",
    };
    Since::refuse_bare_number(lag, input)?;
    let lag = format!("{}::interval", literal(lag));
    let sql = format!(
        "SELECT CASE WHEN {lag} >= interval '0' AND {known} THEN {} END",
        moment(&format!("{now} - {lag}"))
    );
    let found = session.query(&sql, "reading `lag` of `since`");
    match found.map_err(|error| of_written(input, error))?.first() {
        Some(below) => Ok(Bound {
            below,
            held_by: None,
        }),
        None => Err(input_error(
            input,
            "`lag` of `since` gives no bound: it is negative, or the standby has replayed no transaction yet",
            "write a time such as lag = \"5 minutes\"",
        )),
    }
}

/// The bound at the start of the oldest open transaction.
fn oldest_transaction(
    session: &mut BlockingSession,
    table: Option<&Table>,
    read: &ReadRelations,
    input: &Path,
) -> Result<Bound, SourceError> {
    let doing = "asking for the oldest open transaction";
    let failed = |error| of_session(input, error);
    let may_see = "SELECT pg_has_role('pg_read_all_stats', 'USAGE')";
    let may_see = session.query(may_see, doing).map_err(failed)?.first();
    if may_see.as_deref() != Some("t") {
        return Err(input_error(
            input,
            "the user of the connection may not see the transactions of others, so Inrush cannot tell which rows will be committed later",
            "GRANT pg_read_all_stats to the user, or set `lag` in `since`, such as lag = \"5 minutes\"",
        ));
    }
    // Rows from a subscription have times of another server. For a query, all tables are checked, because it may read
    // tables through functions.
    let subscribed = match table {
        Some(_) => format!(
            "{} SELECT EXISTS (SELECT FROM pg_subscription_rel JOIN tree ON tree.oid = srrelid)",
            read.tree()
        ),
        None => "SELECT EXISTS (SELECT FROM pg_subscription_rel)".to_owned(),
    };
    let is_subscribed = session.query(&subscribed, doing).map_err(failed)?.first();
    if is_subscribed.as_deref() == Some("t") {
        return Err(input_error(
            input,
            "a subscription brings rows from another server, later than their values say",
            "read from that server, or set `lag` in `since`, such as lag = \"5 minutes\"",
        ));
    }
    // The time of the statement is fixed before it looks at the transactions. COMMIT AND CHAIN, or one message with COMMIT
    // and BEGIN, starts a transaction whose time is that of the message. Between the two transactions, the session
    // shows no transaction, only the time of the message (`query_start`).
    let sql = format!(
        "SELECT {}, held.words FROM (VALUES (statement_timestamp() - {UNSEEN})) AS seen (at) \
         LEFT JOIN LATERAL ( \
           SELECT began, format('session %s of %s (%s), in a transaction since %s; it is the oldest transaction, and may write such rows', pid, usename, \
                  coalesce(nullif(application_name, ''), backend_type), {}) AS words \
           FROM pg_stat_activity, LATERAL (SELECT coalesce(xact_start, CASE WHEN state = 'active' AND \
                  backend_type = 'client backend' THEN query_start END)) AS span (began) \
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND began IS NOT NULL \
             AND backend_type <> 'autovacuum worker' \
           ORDER BY began LIMIT 1 \
         ) AS held ON held.began < seen.at",
        moment("least(seen.at, held.began)"),
        moment("began"),
    );
    let mut row = session.query(&sql, doing).map_err(failed)?.rows.into_iter();
    let mut row = row.next().unwrap_or_default().into_iter();
    let (below, held_by) = (row.next().flatten(), row.next().flatten());
    // This query comes after the query about transactions, so it finds a session that has hidden its transaction
    // meanwhile.
    let hidden = "SELECT min(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'disabled'";
    if let Some(pid) = session.query(hidden, doing).map_err(failed)?.first() {
        return Err(input_error(
            input,
            format!(
                "session {pid} has track_activities = off, so the server does not say when its transaction began"
            ),
            "set track_activities = on for all sessions, end this one, or set `lag` in `since`, such as lag = \"5 minutes\"",
        ));
    }
    // Prepared transactions are asked for last, so a transaction that was open a moment ago and is now prepared is
    // found here.
    let prepared = "SELECT min(gid) FROM pg_prepared_xacts WHERE database = current_database()";
    if let Some(gid) = session.query(prepared, doing).map_err(failed)?.first() {
        return Err(input_error(
            input,
            format!(
                "the prepared transaction '{gid}' may have written rows, and the server does not say when it began"
            ),
            "commit it or roll it back, or set `lag` in `since`, such as lag = \"5 minutes\"",
        ));
    }
    match below {
        Some(below) => Ok(Bound { below, held_by }),
        None => Err(input_error(
            input,
            "the server did not answer which transactions are open",
            "run the same command again",
        )),
    }
}

/// The rows of an incremental flow, whatever their values.
pub struct Read<'a> {
    /// The table; none if it is a query.
    pub table: Option<&'a Table>,
    /// The relations that are read.
    pub relations: &'a ReadRelations,
    /// The text after FROM.
    pub from: &'a str,
    /// The condition of the flow.
    pub filter: Option<&'a str>,
    /// The name in messages.
    pub input: &'a Path,
    /// The transactions that the snapshot shows.
    pub transactions: &'a str,
}

/// Finds the range in the transaction of the snapshot. If the server finds the rows of a relation by an index, the relation is
/// not cut into ranges of pages: its `pages` become `None`.
pub fn find_range(
    session: &mut BlockingSession,
    since: &Since,
    bound: &Bound,
    read: &Read<'_>,
    relations: &mut [Relation],
) -> Result<FoundRange, SourceError> {
    let Read {
        table,
        relations: read_relations,
        from,
        filter,
        input,
        transactions,
    } = *read;
    let failed = |error| of_session(input, error);
    let doing = "looking for rows that are new";
    let column = identifier(&since.column);
    // Names in the query and in its condition mean what they mean in the user's own sessions.
    session.query(USER_NAMES, doing).map_err(failed)?;
    let describe = format!("SELECT {column} FROM {from} LIMIT 0");
    let described = session.query(&describe, doing).map_err(failed)?;
    let field = described.fields.first();
    refuse_type(session, since, field.map(|field| field.type_oid), input)?;
    let own_digits = field.and_then(|field| u32::try_from(field.type_modifier).ok());
    // A view or a query may take the value from any column.
    let digits = match table.is_some() && !read_relations.has_views {
        true => own_digits,
        false => own_digits
            .into_iter()
            .chain(read_relations.second_digits)
            .min(),
    };
    let bound = &bound.before_rounding(session, digits, input)?;
    let start = match &since.from {
        Some(text) => Some(canonical(session, text, input)?),
        None => None,
    };
    let (range, is_resumed) = since.range(start, &bound.below, transactions, input)?;
    let condition = range_condition(range.from.as_deref(), &range.below, |operator, mark| {
        format!("{column} {operator} {}", instant(mark))
    });
    let rows_where = |from: &str, condition: &str| match filter {
        Some(filter) => {
            let filter = in_parentheses(filter);
            format!("FROM {from} WHERE {filter} AND {condition}")
        }
        None => format!("FROM {from} WHERE {condition}"),
    };
    let among = |from: &str, condition: &str| format!("SELECT {}", rows_where(from, condition));
    // Rows that a limit leaves out would be below the next mark, and would never be loaded.
    Explained::of(session, input, &among(from, &condition))?.refuse_chosen_rows(input, "since")?;
    let may_have_nulls = match table {
        Some(table) => {
            let columns = relations::columns_of(session, table)?;
            let own = columns.iter().find(|column| column.name == since.column);
            own.is_none_or(|column| !column.not_null)
        }
        None => true,
    };
    let mut never_in_range = vec![format!("{column} = 'infinity'")];
    if may_have_nulls && !since.skips_nulls {
        never_in_range.push(format!("{column} IS NULL"));
    }
    let count = format!(
        "SELECT nullif(count(*) - count(v), 0), nullif(count(v), 0) FROM (SELECT {column} AS v {}) AS q",
        rows_where(from, &format!("({})", never_in_range.join(" OR ")))
    );
    let counted = session.query(&count, doing).map_err(failed)?.rows;
    let mut counted = counted.into_iter().flatten();
    let (nulls, endless) = (counted.next().flatten(), counted.next().flatten());
    if let Some(count) = nulls {
        return Err(Since::without_value(input, &column, &count));
    }
    if let Some(count) = endless {
        return Err(input_error(
            input,
            format!("{count} of its rows have infinity in {column}, so they would never be loaded"),
            format!("give them a time, or leave them out by where = 'isfinite({column})'"),
        ));
    }
    let exists = format!("SELECT EXISTS ({})", among(from, &condition));
    let has_rows = session.query(&exists, doing).map_err(failed)?.first();
    let mut by_index = 0;
    // A first run loads most of the table, so all streams read it in ranges of pages.
    let cut = relations
        .iter_mut()
        .filter(|relation| relation.pages.is_some());
    for relation in cut.filter(|_| range.from.is_some()) {
        let explained = format!("EXPLAIN {}", among(&relation.from, &condition));
        let plan = session.query(&explained, doing).map_err(failed)?;
        if is_by_index(plan.rows.iter().flatten().flatten()) {
            // Ranges of pages would read the whole table for a few rows.
            relation.pages = None;
            by_index += 1;
        }
    }
    session.query(CATALOG_NAMES, doing).map_err(failed)?;
    Ok(FoundRange {
        range,
        condition,
        has_rows: has_rows.as_deref() == Some("t"),
        is_safe_because: None,
        held_by: bound.held_by.clone(),
        written_to: Some("the server of the source"),
        is_resumed,
        by_index,
    })
}

/// True if the server finds rows by an index, according to its plan.
fn is_by_index<'a>(mut lines: impl Iterator<Item = &'a String>) -> bool {
    let mut uses_index = false;
    let reads_all = lines.any(|line| {
        uses_index |= line.contains("Index");
        line.contains("Seq Scan")
    });
    uses_index && !reads_all
}

/// A moment as SQL.
pub fn instant(text: &str) -> String {
    format!("{}::pg_catalog.timestamptz", literal(text))
}

/// The value at which a range begins, in the form of marks. Without a zone it is a time of UTC.
fn canonical(
    session: &mut BlockingSession,
    text: &str,
    input: &Path,
) -> Result<String, SourceError> {
    let value = instant(text);
    let sql = format!(
        "SELECT CASE WHEN {value} BETWEEN '0001-01-01Z' AND '9999-12-31Z' THEN {} END",
        moment(&value)
    );
    let found = session.query(&sql, &format!("reading the value `{text}` of `since`"));
    match found.map_err(|error| of_written(input, error))?.first() {
        Some(start) => Ok(start),
        None => Err(Since::no_start(input, text)),
    }
}

/// Refuses columns whose values do not say when their rows are committed.
fn refuse_type(
    session: &mut BlockingSession,
    since: &Since,
    oid: Option<u32>,
    input: &Path,
) -> Result<(), SourceError> {
    let oid = oid.unwrap_or(0);
    if oid == TIMESTAMPTZ_OID {
        return Ok(());
    }
    let name = format!("SELECT pg_catalog.format_type({oid}, NULL)");
    let name = session.query(&name, "asking for the type of the column of `since`");
    let name = name
        .map_err(|error| of_session(input, error))?
        .first()
        .unwrap_or_default();
    let kind = match oid {
        // timestamp, date
        1114 | 1082 => ColumnOfSince::TimeWithoutZone,
        // The integers, and numeric.
        20 | 21 | 23 | 1700 => ColumnOfSince::Number,
        _ => ColumnOfSince::Other,
    };
    Err(since.unsuitable_column(input, &name, kind, "timestamptz"))
}
