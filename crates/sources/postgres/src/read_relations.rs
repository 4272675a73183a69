//! Looks up the relations that a statement reads, including those behind views and partitions. Some of them can change
//! without a visible write.

use inrush_pgclient::{BlockingSession, SessionError};

/// The relations that a statement reads.
#[derive(Clone, Debug, Default)]
pub struct ReadRelations {
    /// The relations that the statement and its views name.
    oids: Vec<u32>,
    /// True if one of them is a view.
    pub has_views: bool,
    /// The first foreign table among them: its rows are on another server.
    pub foreign: Option<String>,
    /// The first materialized view among them: its rows appear when it is refreshed.
    pub materialized: Option<String>,
    /// The first sequence among them: its numbers belong to no snapshot.
    pub sequence: Option<String>,
    /// The fewest digits to which a column rounds the fractions of seconds of its timestamps; `None` if none does.
    pub second_digits: Option<u32>,
}

impl ReadRelations {
    /// Asks for the facts of relations and of all their partitions and descendants.
    pub fn ask(
        session: &mut BlockingSession,
        oids: Vec<u32>,
    ) -> Result<ReadRelations, SessionError> {
        let mut read = ReadRelations {
            oids,
            ..ReadRelations::default()
        };
        let first = |kind: char| {
            format!(
                "(SELECT min(pg_catalog.format('%I.%I', n.nspname, c.relname)) FROM tree \
                 JOIN pg_catalog.pg_class AS c ON c.oid = tree.oid AND c.relkind = '{kind}' \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace)"
            )
        };
        let sql = format!(
            "{}, stamps (digits) AS ( \
               SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END FROM tree \
               JOIN pg_catalog.pg_attribute AS a ON a.attrelid = tree.oid AND a.attnum > 0 AND NOT a.attisdropped \
               JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
               WHERE coalesce(nullif(t.typbasetype, 0), t.oid) IN (1114, 1184) \
             ) SELECT {} IS NOT NULL, {}, {}, {}, \
                      (SELECT min(digits) FROM stamps WHERE digits BETWEEN 0 AND 5)",
            read.tree(),
            first('v'),
            first('f'),
            first('m'),
            first('S'),
        );
        let found = session.query(&sql, "asking what is read")?;
        let row = found.rows.into_iter().next().unwrap_or_default();
        let mut row = row.into_iter();
        read.has_views = row.next().flatten().as_deref() == Some("t");
        read.foreign = row.next().flatten();
        read.materialized = row.next().flatten();
        read.sequence = row.next().flatten();
        read.second_digits = row.next().flatten().and_then(|digits| digits.parse().ok());
        Ok(read)
    }

    /// The beginning of a statement: `tree (oid)` has the relations with their partitions and descendants.
    pub fn tree(&self) -> String {
        let oids: Vec<String> = self.oids.iter().map(u32::to_string).collect();
        format!(
            "WITH RECURSIVE tree (oid) AS ( \
               SELECT pg_catalog.unnest('{{{}}}'::oid[]) \
               UNION SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.oid \
             )",
            oids.join(",")
        )
    }
}
