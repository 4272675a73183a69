//! The numbers that a run has given to members.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::StringArray;
use inrush_destination::given_numbers::{GivenNumbers, KeptNumbers, batch, key_and_number};
use inrush_destination::members::refuse_missing;
use inrush_destination::{AddedMembers, Error, MemberNumbers, Result, TargetPlan};

use super::MemberTable;
use crate::connection::IngestName;
use crate::ingest::Ingest;
use crate::interrupt::Interrupt;
use crate::quirks::Vendor;
use crate::session::AdbcSession;
use crate::shared_database::SharedDatabase;
use crate::staging::Staging;

/// The number of members that are read at a time.
const PAGE: usize = 2_000;

/// The members of a run.
pub struct RunMembers {
    shared: Arc<SharedDatabase>,
    interrupt: Arc<Interrupt>,
    tables: Vec<MemberTable>,
    /// For each target, the indexes of the tables of its members.
    places: Vec<Vec<usize>>,
    state: Mutex<State>,
    /// The session that asks for numbers of sequences, opened when the first one is needed.
    session: Mutex<Option<AdbcSession>>,
}

struct State {
    given: GivenNumbers,
    /// The next number of each reference in SQLite; none if no unit is open.
    next: Vec<Option<i64>>,
}

impl RunMembers {
    /// No members yet.
    pub fn new(
        shared: &Arc<SharedDatabase>,
        interrupt: &Arc<Interrupt>,
        tables: Vec<MemberTable>,
        targets: &[TargetPlan],
    ) -> RunMembers {
        let place = |members| {
            let found = tables.iter().position(|table| table.is_of(members));
            found.expect("each reference has a table")
        };
        let places = targets.iter();
        let places = places.map(|target| target.members.iter().map(place).collect());
        RunMembers {
            shared: Arc::clone(shared),
            interrupt: Arc::clone(interrupt),
            places: places.collect(),
            state: Mutex::new(State {
                given: GivenNumbers::new(tables.iter().map(MemberTable::reference)),
                next: vec![None; tables.len()],
            }),
            tables,
            session: Mutex::default(),
        }
    }

    /// True if no lookup of the run adds members.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the members that an earlier attempt has committed.
    pub fn read(&self, session: &mut AdbcSession) -> Result<()> {
        let mut state = self.state();
        for (at, table) in self.tables.iter().enumerate() {
            let mut after = i64::MIN;
            loop {
                let rows = session.rows(
                    "cannot read the members of the run",
                    &table.all_after(after, PAGE),
                )?;
                let is_last = rows.len() < PAGE;
                for row in rows {
                    let (key, number) = key_and_number(row)?;
                    after = number;
                    state.given.add(at, key, number)?;
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Prepares for a unit, in its transaction. In SQLite the transaction holds the lock of writers from here on.
    pub fn begin_unit(&self, session: &mut AdbcSession) -> Result<()> {
        for (at, table) in self.tables.iter().enumerate() {
            let Some(lock) = table.lock_writers_statement() else {
                continue;
            };
            let doing = "cannot number the members of a lookup";
            session.run(doing, &lock)?;
            let highest = session.number(doing, &table.highest_number())?.unwrap_or(0);
            let highest = i64::try_from(highest).unwrap_or(i64::MAX);
            self.state().next[at] = Some(highest.saturating_add(1));
        }
        Ok(())
    }

    /// Writes the members that may be in the unit's rows and that no transaction is known to have committed.
    pub fn keep(&self, session: &mut AdbcSession) -> Result<KeptNumbers> {
        let mut kept = KeptNumbers::new();
        for (at, table) in self.tables.iter().enumerate() {
            let pending = self.state().given.pending(at);
            let Some((highest, _)) = pending.last() else {
                continue;
            };
            for statement in table.raise_sequence_statements(&highest.to_string()) {
                session.run("cannot reserve the numbers of members", &statement)?;
            }
            let numbers: Vec<i64> = pending.iter().map(|(number, _)| *number).collect();
            let batch = batch::<StringArray>(&table.columns(), &pending);
            let name = IngestName {
                schema: table.stored.0.clone(),
                table: table.stored.1.clone(),
            };
            let schema = batch.schema();
            let mut ingest = Ingest::begin(session, &self.interrupt, &name, &schema)?;
            ingest.push(session, batch)?;
            ingest.finish(session)?;
            kept.push((at, numbers));
        }
        Ok(kept)
    }

    /// Notes that the transaction with these members was committed.
    pub fn committed(&self, kept: &KeptNumbers) {
        self.state().given.committed(kept);
    }

    /// Notes that a unit has ended. In SQLite, numbers that it has not committed may be given to other members from
    /// here on.
    pub fn end_unit(&self) {
        if self.shared.quirks.vendor == Vendor::Sqlite {
            let mut state = self.state();
            state.next.fill(None);
            state.given.forget_pending();
        }
    }

    /// Reads the numbers of members that others have added meanwhile. Rows that are loaded from here on get these
    /// numbers.
    pub fn refresh(&self, session: &mut AdbcSession) -> Result<()> {
        for (at, table) in self.tables.iter().enumerate() {
            let rows = session.rows(
                "cannot look for members in the reference of a lookup",
                &table.existing_of_keys(),
            )?;
            let mut state = self.state();
            for row in rows {
                let (key, number) = key_and_number(row)?;
                state.given.replace(at, key, number);
            }
        }
        Ok(())
    }

    /// Adds the members that staged rows refer to, each to its reference, in the transaction of the publish.
    pub fn add(
        &self,
        session: &mut AdbcSession,
        stagings: &[Staging],
    ) -> Result<Vec<AddedMembers>> {
        let mut all = Vec::new();
        for table in &self.tables {
            let doing = format!("cannot add the members to {}", table.reference());
            let mut added = 0;
            if let Some(add) = table.add_statement(stagings) {
                added = session.run(&doing, &add)?.unwrap_or(0);
                if session
                    .number(&doing, &table.existing_count())?
                    .unwrap_or(0)
                    > 0
                {
                    for replace in table.replace_statements(stagings) {
                        session.run(&doing, &replace)?;
                    }
                }
            }
            if let Some(missing) = table.missing(stagings) {
                let missing = session.number(&doing, &missing)?.unwrap_or(0);
                refuse_missing(doing.clone(), missing)?;
            }
            session.run(&doing, &table.remove_statement())?;
            all.push(AddedMembers {
                target: table.target,
                table: table.reference().to_owned(),
                added,
            });
        }
        Ok(all)
    }

    /// The next numbers of a reference, for this many keys.
    fn next(&self, at: usize, count: usize, state: &mut State) -> Result<Vec<i64>> {
        let table = &self.tables[at];
        let doing = "cannot number the members of a lookup";
        if table.next_numbers(0).is_none() {
            let next = &mut state.next[at];
            let first = next.ok_or_else(|| Error::Refused {
                doing: doing.to_owned(),
                message: "no unit is open".to_owned(),
                hint: None,
            })?;
            let end = first.saturating_add(count as i64);
            *next = Some(end);
            return Ok((first..end).collect());
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *session {
            Some(session) => session,
            none => none.insert(self.shared.session(&self.interrupt)?),
        };
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count {
            // A sequence may be behind its table, so numbers that rows already have are left out.
            let asked = table
                .next_numbers(count - numbers.len())
                .unwrap_or_default();
            for row in session.rows(doing, &asked)? {
                let is_free = row
                    .get(1)
                    .is_some_and(|taken| taken.as_deref() == Some("0"));
                let (_, number) = key_and_number(row.into_iter().take(1).collect())?;
                if is_free {
                    numbers.push(number);
                }
            }
        }
        Ok(numbers)
    }
}

impl MemberNumbers for RunMembers {
    fn numbers(&self, target: usize, members: usize, keys: &[Vec<String>]) -> Result<Vec<i64>> {
        let at = self.places[target][members];
        let mut state = self.state();
        let new = state.given.without_number(at, keys);
        if !new.is_empty() {
            let numbers = self.next(at, new.len(), &mut state)?;
            for (key, number) in new.into_iter().zip(numbers) {
                state.given.give(at, key, number)?;
            }
        }
        Ok(state.given.of(at, keys))
    }
}
