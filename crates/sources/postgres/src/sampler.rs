//! Samples the states of the reading sessions. The session that keeps the snapshot asks the server, so sampling needs
//! no further connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inrush_pgclient::activity::{backend_state, event_name, holder, holders_of, states_of};
use inrush_pgclient::local_backend::is_backend;
use inrush_pgclient::{BlockingSession, SessionError};
use inrush_source::{SeenSession, SessionSampler, SourceError};

use crate::database::Database;
use crate::error::of_session;

/// The longest wait for the server's answer. After it the session only keeps the snapshot.
const PATIENCE: Duration = Duration::from_secs(2);

/// The statistics of a transaction stay as they were first read, unless they are cleared. An error must not end the
/// transaction, because the snapshot would end with it.
const BEGIN: &str = "SAVEPOINT sample; SELECT pg_catalog.pg_stat_clear_snapshot()";
const END: &str = "RELEASE SAVEPOINT sample";
const UNDO: &str = "ROLLBACK TO SAVEPOINT sample; RELEASE SAVEPOINT sample";

/// Samples the sessions that read from a database.
#[derive(Debug)]
pub struct Sampler {
    database: Arc<Database>,
}

impl Sampler {
    /// A sampler for the sessions of this database.
    pub fn new(database: &Arc<Database>) -> Sampler {
        Sampler {
            database: Arc::clone(database),
        }
    }
}

impl SessionSampler for Sampler {
    fn server(&self) -> &Arc<str> {
        &self.database.place
    }

    fn look(&self, process_ids: &[i32]) -> Result<Vec<SeenSession>, SourceError> {
        let snapshot = self.database.pool.snapshot();
        let seen = snapshot.with_keeper(|keeper| look(keeper, process_ids));
        seen.map_err(|error| of_session(Path::new(&*self.database.place), error))
    }

    fn is_on_this_machine(&self, process_id: i32) -> bool {
        is_backend(process_id, &self.database.name)
    }
}

/// A session, and the processes that hold the lock that it waits for.
type SeenAndHolders = (SeenSession, Vec<i32>);

fn look(
    keeper: &mut BlockingSession,
    process_ids: &[i32],
) -> Result<Vec<SeenSession>, SessionError> {
    let rows = ask(keeper, &states_of(&array(process_ids)))?;
    let mut seen: Vec<SeenAndHolders> = rows.iter().filter_map(|row| session_of(row)).collect();
    let mut holders: Vec<i32> = seen
        .iter()
        .flat_map(|(_, holders)| holders.clone())
        .collect();
    // Sessions of one run should not block each other. If they do, they are not reported as blockers.
    holders.retain(|process_id| !process_ids.contains(process_id));
    if !holders.is_empty() {
        for row in ask(keeper, &holders_of(&array(&holders)))? {
            let [Some(process_id), Some(user), Some(application), Some(state)] = &row[..] else {
                continue;
            };
            let Ok(process_id) = process_id.parse::<i32>() else {
                continue;
            };
            for (session, waits_for) in &mut seen {
                if waits_for.contains(&process_id) {
                    let words = holder(process_id, user, application, state);
                    session.blockers.push(words);
                }
            }
        }
    }
    Ok(seen.into_iter().map(|(session, _)| session).collect())
}

/// The rows of a query, which sees the server as it is now.
fn ask(
    keeper: &mut BlockingSession,
    query: &str,
) -> Result<Vec<Vec<Option<String>>>, SessionError> {
    let doing = "looking at the sessions that read";
    let sql = format!("{BEGIN}; {query}; {END}");
    match keeper.query_within(&sql, PATIENCE, doing) {
        Ok(result) => Ok(result.rows),
        Err(error) => {
            // After a lost connection this fails, too, and changes nothing.
            let _ = keeper.query_within(UNDO, PATIENCE, doing);
            Err(error)
        }
    }
}

/// An `int4[]` in SQL.
fn array(numbers: &[i32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    format!("'{{{}}}'::pg_catalog.int4[]", numbers.join(","))
}

/// A row of [`states_of`].
fn session_of(row: &[Option<String>]) -> Option<SeenAndHolders> {
    let [Some(process_id), state, class, event, holders] = row else {
        return None;
    };
    let (state, class, event) = (state.as_deref(), class.as_deref(), event.as_deref());
    let session = SeenSession {
        process_id: process_id.parse().ok()?,
        state: backend_state(state, class, event),
        event: event_name(class, event),
        blockers: Vec::new(),
    };
    let holders = holders.as_deref().unwrap_or_default();
    let numbers = holders.trim_matches(['{', '}']).split(',');
    Some((
        session,
        numbers.filter_map(|number| number.parse().ok()).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_verdict::BackendState;

    #[test]
    fn rows_of_the_server_are_understood() {
        let row = |texts: [Option<&str>; 5]| texts.map(|text| text.map(str::to_owned));
        let locked = row([
            Some("12"),
            Some("active"),
            Some("Lock"),
            Some("advisory"),
            Some("{7,8}"),
        ]);
        let (session, holders) = session_of(&locked).expect("a session");
        assert_eq!(session.process_id, 12);
        assert_eq!(session.state, BackendState::Lock);
        assert_eq!(session.event.as_deref(), Some("Lock:advisory"));
        assert_eq!(holders, [7, 8]);
        let computing = row([Some("12"), Some("active"), None, None, None]);
        let (session, holders) = session_of(&computing).expect("a session");
        assert_eq!(session.state, BackendState::Cpu);
        assert!(session.event.is_none() && holders.is_empty());
        assert!(session_of(&row([None; 5])).is_none());
        assert_eq!(array(&[1, 2]), "'{1,2}'::pg_catalog.int4[]");
    }
}
