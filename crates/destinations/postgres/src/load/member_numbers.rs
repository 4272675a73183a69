//! The numbers of members that lookups add, from the ledger: over a session of its own, because the session of a stream
//! is in the middle of a transaction.

use std::sync::{Arc, Mutex, PoisonError};

use inrush_plan::steps::{AskedMembers, MemberKey, MemberNumbers};
use inrush_rows::ids::{RunId, RunName};
use tokio::runtime::Handle;

use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::plan::members::{MemberTable, MembersPlan};
use crate::quote::{identifier, literal};
use crate::{DatabaseAddress, PostgresError, Session};

/// The session that reserves members, for all streams of a process. It is opened for the first key.
pub struct MemberSession {
    address: DatabaseAddress,
    ledger: Ledger,
    run_id: RunId,
    run: RunName,
    lock_timeout_ms: u32,
    runtime: Handle,
    session: Mutex<Option<Session>>,
}

impl MemberSession {
    /// Gives the lookups of a plan that add members a way to get numbers from the ledger. Called on a thread of the
    /// runtime.
    pub fn serve(
        plan: &Plan,
        address: &DatabaseAddress,
        ledger: &Ledger,
        run_id: RunId,
        run: &RunName,
    ) -> Arc<MemberSession> {
        let own = Arc::new(MemberSession {
            address: address.clone(),
            ledger: ledger.clone(),
            run_id,
            run: run.clone(),
            lock_timeout_ms: plan.settings.lock_timeout_ms,
            runtime: Handle::current(),
            session: Mutex::default(),
        });
        for planned in plan.members() {
            planned.members.give(Arc::new(Numbers {
                session: Arc::clone(&own),
                reference: planned.reference.clone(),
                places: planned.places.clone(),
            }));
        }
        own
    }

    /// Ends the session.
    pub async fn close(&self) {
        let session = self
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(session) = session {
            session.close().await;
        }
    }

    async fn open(&self) -> Result<Session, PostgresError> {
        let name = format!("inrush {} members", self.run);
        let session = Session::open(&self.address, &name).await?;
        let patience = format!("SET lock_timeout = {}", self.lock_timeout_ms);
        session
            .execute(&patience, "numbering the members of a lookup")
            .await?;
        Ok(session)
    }

    fn reserve(&self, reference: &MemberTable, keys: &[Vec<&str>]) -> Result<Vec<i64>, String> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = &mut *session;
        let told = |error: &dyn std::fmt::Display| error.to_string();
        // The caller's thread may run another future of the same runtime.
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                self.runtime.block_on(async {
                    let open = match session.take() {
                        Some(open) => open,
                        None => self.open().await.map_err(|error| told(&error))?,
                    };
                    let reserved = self
                        .ledger
                        .reserve_members(&open, self.run_id, reference, keys)
                        .await;
                    // A session that failed is not used again.
                    if reserved.is_ok() {
                        *session = Some(open);
                    }
                    reserved.map_err(|error| told(&error))
                })
            });
            asking
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// The numbers of one reference's members.
struct Numbers {
    session: Arc<MemberSession>,
    reference: MemberTable,
    places: Vec<usize>,
}

impl MemberNumbers for Numbers {
    fn numbers(&self, keys: &[MemberKey]) -> Result<Vec<i64>, String> {
        let mut found = vec![0; keys.len()];
        let ordered = AskedMembers::in_order(&self.places, keys);
        let texts: Vec<Vec<&str>> = ordered
            .iter()
            .map(|(key, _)| key.iter().map(String::as_str).collect())
            .collect();
        let numbers = self.session.reserve(&self.reference, &texts)?;
        if numbers.len() != keys.len() {
            let MemberTable {
                table,
                number,
                sequence,
                ..
            } = &self.reference;
            let number = identifier(number);
            return Err(format!(
                "the sequence {sequence} gives numbers that other rows of {table} have, likely because rows were added with numbers \
                 of their own; correct it, and run the same command again: \
                 SELECT setval({}, (SELECT max({number}) FROM {table}));",
                literal(sequence).trim_start()
            ));
        }
        for ((_, at), number) in ordered.iter().zip(numbers) {
            found[*at] = number;
        }
        Ok(found)
    }
}

impl Plan {
    /// The lookups of all flows that add members to their references.
    pub fn members(&self) -> impl Iterator<Item = &MembersPlan> {
        self.flows.iter().flat_map(|flow| &flow.members)
    }
}
