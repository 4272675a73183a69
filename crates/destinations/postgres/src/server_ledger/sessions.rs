//! The sessions that read and change the ledger: sessions of its own, or the session of a planner or of a plan.

use std::sync::{Arc, Mutex, PoisonError};

use inrush_destination::{Error, Result};
use inrush_rows::cancel::Stop;
use inrush_system::runtime::Threads;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::ledger::{Ledger, LedgerError};
use crate::planned_server::PlannedServer;
use crate::{DatabaseAddress, PostgresError, Session};

/// Limits the wait for another session's lock on a staging table or the ledger. That session may hang while it reads
/// the table, or in the middle of a switch.
pub const PATIENCE: &str = "SET lock_timeout = '5s'";

/// The ledger in a schema of a server. Each call blocks.
pub struct ServerLedger<'a> {
    pub(super) schema: String,
    sessions: Sessions<'a>,
}

enum Sessions<'a> {
    /// A session that is opened for the first question.
    Own(Box<OwnSession>),
    /// The session of a plan, which is already in a runtime. The plan has limited the session's wait for locks.
    OfPlan {
        session: &'a Session,
        stop: &'a Stop,
    },
    /// The session of a planner, between its plans.
    OfPlanner(Arc<PlannedServer>),
}

struct OwnSession {
    address: DatabaseAddress,
    runtime: Threads,
    /// The session for questions; `None` before the first one, and after a session was lost.
    kept: Mutex<Option<Session>>,
}

impl<'a> ServerLedger<'a> {
    /// The ledger in `schema` of a server.
    pub fn new(address: DatabaseAddress, schema: &str, threads: Threads) -> ServerLedger<'static> {
        ServerLedger {
            schema: schema.to_owned(),
            sessions: Sessions::Own(Box::new(OwnSession {
                address,
                runtime: threads,
                kept: Mutex::new(None),
            })),
        }
    }

    /// The ledger in `schema`, for a planner, over the session of its plans. It can only be asked. Its calls end when the run of the
    /// last plan is asked to stop.
    pub fn of_planner(server: Arc<PlannedServer>, schema: &str) -> ServerLedger<'static> {
        ServerLedger {
            schema: schema.to_owned(),
            sessions: Sessions::OfPlanner(server),
        }
    }

    /// The ledger in `schema`, for a plan. It can only be asked. Its calls end when the run is asked to stop.
    pub fn of_plan(session: &'a Session, schema: &str, stop: &'a Stop) -> ServerLedger<'a> {
        ServerLedger {
            schema: schema.to_owned(),
            sessions: Sessions::OfPlan { session, stop },
        }
    }

    fn book(&self) -> Ledger {
        Ledger::new(&self.schema)
    }

    /// Asks the ledger. The ledger's own session is kept for the next question.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&Session, &Ledger) -> std::result::Result<T, LedgerError>,
    ) -> Result<T> {
        let own = match &self.sessions {
            Sessions::Own(own) => own,
            Sessions::OfPlanner(server) => {
                let book = self.book();
                let answer = server.ask(async |session| Ok(question(session, &book).await?));
                return answer.map_err(Error::from);
            }
            Sessions::OfPlan { session, stop } => {
                let book = self.book();
                let asking = stop.unless_asked(question(session, &book));
                let answer = block_in_place(|| Handle::current().block_on(asking));
                return answer.map_or(Err(Error::Interrupted), |answer| Ok(answer?));
            }
        };
        let mut kept = own.kept.lock().unwrap_or_else(PoisonError::into_inner);
        own.runtime.block_on(async {
            let session = match kept.take() {
                Some(session) => session,
                None => open(&own.address, "inrush status").await?,
            };
            let answer = question(&session, &self.book()).await;
            match answer {
                Err(LedgerError::Destination(error)) if error.is_lost() => {
                    session.abandon();
                    Err(error.into())
                }
                answer => {
                    *kept = Some(session);
                    Ok(answer?)
                }
            }
        })
    }

    /// Changes the ledger in a new session. The end of the session releases the lock of the run.
    pub(super) fn change<T, E: Into<Error>>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(&Session, &Ledger) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let Sessions::Own(own) = &self.sessions else {
            return Err(Error::Unsuitable {
                what: "a plan was asked to change the ledger".to_owned(),
                hint: "this is a mistake in Inrush, and nothing was changed; report it with the package"
                    .to_owned(),
            });
        };
        own.runtime.block_on(async {
            let session = open(&own.address, name).await?;
            let done = work(&session, &self.book()).await;
            match done.map_err(Into::<Error>::into) {
                Err(error @ Error::Lost { .. }) => {
                    session.abandon();
                    Err(error)
                }
                done => {
                    session.close().await;
                    done
                }
            }
        })
    }
}

async fn open(
    address: &DatabaseAddress,
    name: &str,
) -> std::result::Result<Session, PostgresError> {
    let session = Session::open(address, name).await?;
    session.execute(PATIENCE, "looking for runs").await?;
    Ok(session)
}

impl Drop for ServerLedger<'_> {
    fn drop(&mut self) {
        let Sessions::Own(own) = &mut self.sessions else {
            return;
        };
        let kept = own.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = kept.take() {
            own.runtime.block_on(session.close());
        }
    }
}
