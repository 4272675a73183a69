//! The numbers that a run has given to members.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use inrush_destination::{
    AddedMembers, Error, MEMBERS_BYTES_MAX, MemberNumbers, Result, TargetPlan,
};
use inrush_rows::quantity::bytes;

use super::MemberTable;
use crate::connection::IngestName;
use crate::ingest::Ingest;
use crate::interrupt::Interrupt;
use crate::quirks::Vendor;
use crate::session::AdbcSession;
use crate::shared_database::SharedDatabase;
use crate::staging::Staging;

/// Members that are read at a time.
const PAGE: usize = 2_000;
/// Bytes of an entry of both maps beside its texts, and of a text beside its characters.
const ENTRY_BYTES: usize = 160;
const TEXT_BYTES: usize = 2 * 48;

/// The members of a run.
pub struct RunMembers {
    shared: Arc<SharedDatabase>,
    interrupt: Arc<Interrupt>,
    tables: Vec<MemberTable>,
    /// For each target, the tables of its members, by their indexes.
    places: Vec<Vec<usize>>,
    state: Mutex<State>,
    /// The session that asks for numbers of sequences, opened when the first one is needed.
    session: Mutex<Option<AdbcSession>>,
}

#[derive(Default)]
struct State {
    tables: Vec<Known>,
    bytes: u64,
}

/// The members of one reference.
#[derive(Default)]
struct Known {
    numbers: HashMap<Vec<String>, i64>,
    /// The members that no transaction is known to have committed, by their numbers.
    pending: BTreeMap<i64, Vec<String>>,
    /// The next number in SQLite; none if no unit is open.
    next: Option<i64>,
}

/// The members that a transaction keeps: for each table, by its index, their numbers.
pub type Kept = Vec<(usize, Vec<i64>)>;

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
                tables: tables.iter().map(|_| Known::default()).collect(),
                bytes: 0,
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
                    state.add(at, table, key, number)?;
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Prepares for a unit, in its transaction. In SQLite it holds the lock of writers from here on.
    pub fn begin_unit(&self, session: &mut AdbcSession) -> Result<()> {
        for (at, table) in self.tables.iter().enumerate() {
            let Some(lock) = table.lock_writers_statement() else {
                continue;
            };
            let doing = "cannot number the members of a lookup";
            session.run(doing, &lock)?;
            let highest = session.number(doing, &table.highest_number())?.unwrap_or(0);
            let highest = i64::try_from(highest).unwrap_or(i64::MAX);
            self.state().tables[at].next = Some(highest.saturating_add(1));
        }
        Ok(())
    }

    /// Writes the members that may be in the unit's rows and that no transaction is known to have committed.
    pub fn keep(&self, session: &mut AdbcSession) -> Result<Kept> {
        let mut kept = Kept::new();
        for (at, table) in self.tables.iter().enumerate() {
            let pending: Vec<(i64, Vec<String>)> = {
                let state = self.state();
                let pending = state.tables[at].pending.iter();
                pending
                    .map(|(number, key)| (*number, key.clone()))
                    .collect()
            };
            let Some((highest, _)) = pending.last() else {
                continue;
            };
            for statement in table.raise_sequence_statements(&highest.to_string()) {
                session.run("cannot reserve the numbers of members", &statement)?;
            }
            let numbers: Vec<i64> = pending.iter().map(|(number, _)| *number).collect();
            let batch = batch(table, &pending);
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

    /// The transaction that keeps these members is committed.
    pub fn committed(&self, kept: &Kept) {
        let mut state = self.state();
        for (at, numbers) in kept {
            for number in numbers {
                state.tables[*at].pending.remove(number);
            }
        }
    }

    /// A unit has ended. In SQLite, numbers that it has not committed may be given to others from here on.
    pub fn end_unit(&self) {
        if self.shared.quirks.vendor != Vendor::Sqlite {
            return;
        }
        for known in &mut self.state().tables {
            known.next = None;
            for key in std::mem::take(&mut known.pending).into_values() {
                known.numbers.remove(&key);
            }
        }
    }

    /// Uses the numbers of members that others have added meanwhile for rows that are loaded from here on.
    pub fn refresh(&self, session: &mut AdbcSession) -> Result<()> {
        for (at, table) in self.tables.iter().enumerate() {
            let rows = session.rows(
                "cannot look for members in the reference of a lookup",
                &table.existing_of_keys(),
            )?;
            let mut state = self.state();
            for row in rows {
                let (key, number) = key_and_number(row)?;
                state.tables[at].numbers.insert(key, number);
            }
        }
        Ok(())
    }

    /// Adds the members that staged rows have to their references, in the transaction of the publish.
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
                if missing > 0 {
                    return Err(Error::Refused {
                        doing,
                        message: format!("{missing} of them are not there with their numbers"),
                        hint: Some(
                            "does a trigger of the table drop rows, or change their numbers?"
                                .to_owned(),
                        ),
                    });
                }
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
            let next = &mut state.tables[at].next;
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
            // A sequence may be behind its table: numbers that rows have are left out.
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
        let is_new = |key: &&Vec<String>| !state.tables[at].numbers.contains_key(*key);
        let new: Vec<Vec<String>> = keys.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            let numbers = self.next(at, new.len(), &mut state)?;
            for (key, number) in new.into_iter().zip(numbers) {
                state.tables[at].pending.insert(number, key.clone());
                state.add(at, &self.tables[at], key, number)?;
            }
        }
        let known = &state.tables[at].numbers;
        Ok(keys.iter().map(|key| known[key]).collect())
    }
}

impl State {
    fn add(&mut self, at: usize, table: &MemberTable, key: Vec<String>, number: i64) -> Result<()> {
        let texts = key.iter().map(|text| 2 * text.len() + TEXT_BYTES);
        self.bytes += (texts.sum::<usize>() + ENTRY_BYTES) as u64;
        self.tables[at].numbers.insert(key, number);
        match self.bytes > MEMBERS_BYTES_MAX {
            false => Ok(()),
            true => Err(Error::Unsuitable {
                what: format!(
                    "the new members of {} need more than {} of memory: they are {} so far",
                    table.reference(),
                    bytes(MEMBERS_BYTES_MAX),
                    self.tables[at].numbers.len()
                ),
                hint: "add them to the table yourself, then run the same command again".to_owned(),
            }),
        }
    }
}

/// The texts of a key, and the number after them.
fn key_and_number(mut row: Vec<Option<String>>) -> Result<(Vec<String>, i64)> {
    let number = row.pop().flatten();
    let parsed = number.as_deref().and_then(|number| number.parse().ok());
    let number = parsed.ok_or_else(|| Error::Refused {
        doing: "cannot read the members of the run".to_owned(),
        message: format!("expected a number, but {number:?} came"),
        hint: None,
    })?;
    let key = row.into_iter().map(Option::unwrap_or_default);
    Ok((key.collect(), number))
}

fn batch(table: &MemberTable, members: &[(i64, Vec<String>)]) -> RecordBatch {
    let names = table.columns();
    let keys = (0..names.len() - 1).map(|at| {
        let texts = members.iter().map(|(_, key)| key[at].as_str());
        Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
    });
    let numbers = members.iter().map(|(number, _)| *number);
    let numbers = Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef;
    let columns = names.iter().zip(keys.chain([numbers]));
    RecordBatch::try_from_iter(columns).expect("as many columns as names, of one length")
}
