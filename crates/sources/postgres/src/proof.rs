//! The proof that the rows of a range are those that were loaded: their count and the sum of their hashes. The server
//! computes both, and sends no rows. The limit on the rate of reading also holds for ranges that are compared with the
//! ledger. Each counts with its size in the database, because the server has to read it.

use std::fmt;

use inrush_pgclient::{BlockingSession, SessionError};
use inrush_source::{ReadPace, SourceError, SplitContent};

use crate::catalog::where_clause;
use crate::columns::Column;
use crate::error::of_session;
use crate::input::TableInput;
use crate::source::Reading;

/// The count and the sum of the rows of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The server's major version. Another one may write or hash values differently.
    version: String,
    count: String,
    sum: String,
}

impl Proof {
    /// Asks the server for the proof, with a session of the snapshot. `conditions` are the conditions of the range.
    pub fn ask(
        session: &mut BlockingSession,
        input: &TableInput,
        columns: &[Column],
        conditions: &[String],
    ) -> Result<Proof, SessionError> {
        // The rows are read by the same expressions, so a column that is read as text is hashed as this text.
        let list: Vec<String> = columns.iter().map(Column::expression).collect();
        let sql = format!(
            "SELECT pg_catalog.current_setting('server_version_num')::int / 10000, pg_catalog.count(*), \
                    coalesce(pg_catalog.sum(pg_catalog.hashtextextended(ROW({})::text, 0)::numeric), 0) \
             FROM {}{}",
            list.join(", "),
            input.from,
            where_clause(conditions)
        );
        let doing = format!(
            "counting and hashing the rows of {}",
            input.of.name.display()
        );
        let mut texts = session.query(&sql, &doing)?.texts().into_iter();
        let mut next = || texts.next().unwrap_or_default();
        Ok(Proof {
            version: next(),
            count: next(),
            sum: next(),
        })
    }
}

/// The form in the ledger.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Proof {
            version,
            count,
            sum,
        } = self;
        write!(f, "postgres{version}:{count}:{sum}")
    }
}

/// True if the rows of an input are still those that were read.
pub fn holds(
    reading: &Reading,
    input: &TableInput,
    read: &[SplitContent],
) -> Result<bool, SourceError> {
    let name = &input.of.name;
    let mut lease = reading.pool().take(name, reading.hides_nothing)?;
    let mut pace = ReadPace::new(reading.pace());
    for content in read {
        let range = content.range_in(input.of.size_bytes);
        pace.add(usize::try_from(range.end - range.start).unwrap_or(usize::MAX));
        pace.keep(&reading.stop);
        let conditions = reading.conditions(input, &range);
        let proof = Proof::ask(&mut lease.session, input, &reading.columns, &conditions);
        let proof = proof.map_err(|error| of_session(name, error))?;
        if content.hash != Some(proof.to_string()) {
            reading.pool().give_back(lease);
            return Ok(false);
        }
    }
    let age = &reading.pool().snapshot().age;
    age.check().map_err(|error| of_session(name, error))?;
    reading.pool().give_back(lease);
    Ok(true)
}
