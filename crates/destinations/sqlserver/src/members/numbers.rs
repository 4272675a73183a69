//! The numbers that a run has given to members.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::StringViewArray;
use inrush_destination::given_numbers::{GivenNumbers, KeptNumbers, batch, key_and_number};
use inrush_destination::members::refuse_missing;
use inrush_destination::{AddedMembers, Error, MemberNumbers, Result, TargetPlan};

use super::MemberTable;
use crate::bulk_target::BulkTarget;
use crate::bulk_writer::BulkWriter;
use crate::connection::{Purpose, RunInterrupt, SqlSession};
use crate::options::Options;
use crate::staging::Staging;

/// The number of members that are read at a time.
const PAGE: usize = 2_000;
/// The number of keys for which numbers are taken at a time. A statement has at most 1,000 rows of values.
const KEYS_AT_ONCE: usize = 100;

const NUMBERING: &str = "cannot number the members of a lookup";

/// The members of a run.
pub struct RunMembers {
    options: Arc<Options>,
    interrupt: Arc<RunInterrupt>,
    tables: Vec<MemberTable>,
    /// How members are sent into the table of each reference.
    bulk_targets: Vec<BulkTarget>,
    /// For each target, the indexes of the tables of its members.
    places: Vec<Vec<usize>>,
    state: Mutex<GivenNumbers>,
    /// The session that takes numbers, opened when the first one is needed.
    session: Mutex<Option<SqlSession>>,
}

impl RunMembers {
    /// The members that an earlier attempt has committed, if there was one.
    pub fn read(
        session: &mut SqlSession,
        options: &Arc<Options>,
        interrupt: &Arc<RunInterrupt>,
        tables: Vec<MemberTable>,
        targets: &[TargetPlan],
    ) -> Result<RunMembers> {
        let place = |members| {
            let found = tables.iter().position(|table| table.is_of(members));
            found.expect("each reference has a table")
        };
        let places = targets.iter();
        let places = places.map(|target| target.members.iter().map(place).collect());
        let places = places.collect();
        let mut given = GivenNumbers::new(tables.iter().map(MemberTable::reference));
        let mut bulk_targets = Vec::with_capacity(tables.len());
        for (at, table) in tables.iter().enumerate() {
            let columns = table.columns();
            let names = columns.iter().map(String::as_str);
            bulk_targets.push(BulkTarget::ask(session, &table.sql, names, options)?);
            let mut after = i64::MIN;
            loop {
                let doing = "cannot read the members of the run";
                let rows = session.rows(doing, &table.all_after(after, PAGE))?;
                if rows.is_empty() {
                    break;
                }
                for row in rows {
                    let (key, number) = key_and_number(row)?;
                    after = number;
                    given.add(at, key, number)?;
                }
            }
        }
        Ok(RunMembers {
            options: Arc::clone(options),
            interrupt: Arc::clone(interrupt),
            tables,
            bulk_targets,
            places,
            state: Mutex::new(given),
            session: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, GivenNumbers> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the members that may be in the unit's rows and that no transaction is known to have committed, in the
    /// transaction of the unit.
    pub fn keep(&self, session: &mut SqlSession) -> Result<KeptNumbers> {
        let mut kept = KeptNumbers::new();
        for (at, table) in self.tables.iter().enumerate() {
            let pending = self.state().pending(at);
            if pending.is_empty() {
                continue;
            }
            let doing = format!("cannot keep the members of {}", table.reference());
            let bulk_target = self.bulk_targets[at].clone();
            let packet_size = session.facts().packet_size;
            let mut writer = BulkWriter::new(bulk_target, doing.clone(), packet_size);
            let misfits = writer.write(
                session,
                &batch::<StringViewArray>(&table.columns(), &pending),
            )?;
            let counted = writer.end(session)?;
            if !misfits.is_empty() || counted != pending.len() as u64 {
                return Err(Error::Count {
                    what: doing,
                    counted,
                    sent: pending.len() as u64,
                });
            }
            kept.push((at, pending.iter().map(|(number, _)| *number).collect()));
        }
        Ok(kept)
    }

    /// Notes that the transaction with these members was committed.
    pub fn committed(&self, kept: &KeptNumbers) {
        self.state().committed(kept);
    }

    /// Reads the numbers of members that others have added meanwhile. Rows that are loaded from here on get these
    /// numbers.
    pub fn refresh(&self, session: &mut SqlSession) -> Result<()> {
        for (at, table) in self.tables.iter().enumerate() {
            let doing = "cannot look for members in the reference of a lookup";
            for row in session.rows(doing, &table.existing_of_keys())? {
                let (key, number) = key_and_number(row)?;
                self.state().replace(at, key, number);
            }
        }
        Ok(())
    }

    /// Adds the members that staged rows refer to, each to its reference, in the transaction of the publish.
    pub fn add(&self, session: &mut SqlSession, stagings: &[Staging]) -> Result<Vec<AddedMembers>> {
        let mut all = Vec::new();
        for table in &self.tables {
            let doing = format!("cannot add the members to {}", table.reference());
            let mut added = 0;
            if let Some(add) = table.add_statement(stagings) {
                added = add.run(session, &doing)?.count().unwrap_or(0);
            }
            if let Some(missing) = table.missing(stagings)
                && session.number(&doing, &missing)?.unwrap_or(0) > 0
            {
                // Others have added them meanwhile.
                for replace in table.replace_statements(stagings) {
                    session.run(&doing, &replace)?;
                }
                let missing = session.number(&doing, &missing)?.unwrap_or(0);
                refuse_missing(doing.clone(), missing.unsigned_abs())?;
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

    /// Takes numbers for keys that have none, from the identity column of the reference.
    fn take(&self, at: usize, keys: &[Vec<String>]) -> Result<Vec<i64>> {
        let table = &self.tables[at];
        if let Some(key) = keys.iter().flatten().find(|text| text.ends_with(' ')) {
            return Err(Error::Unsuitable {
                what: format!(
                    "the key {key:?} of a new member of {} ends with a blank, which SQL Server ignores when it compares texts",
                    table.reference()
                ),
                hint: "derive the column without blanks at its end, rtrim(...), in a step before the lookup"
                    .to_owned(),
            });
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *session {
            Some(session) if session.is_open() => session,
            none => none.insert(SqlSession::connect(
                &self.options.session,
                0,
                Purpose::Run,
                &self.interrupt.0,
            )?),
        };
        let mut numbers = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS_AT_ONCE) {
            numbers.extend(take_some(session, table, keys)?);
        }
        Ok(numbers)
    }
}

/// The numbers of keys. Keys that the reference already has keep their numbers; the others get new ones.
fn take_some(
    session: &mut SqlSession,
    table: &MemberTable,
    keys: &[Vec<String>],
) -> Result<Vec<i64>> {
    let all: Vec<&Vec<String>> = keys.iter().collect();
    let mut numbers = numbers_in(session, &table.numbers_of(&all))?;
    loop {
        let missing = numbers.iter().zip(&all);
        let missing = missing.filter(|(number, _)| number.is_none());
        let missing: Vec<&Vec<String>> = missing.map(|(_, key)| *key).collect();
        if missing.is_empty() {
            break;
        }
        match numbers_in(session, &table.take_batch(&missing)) {
            Ok(taken) => {
                let mut taken = taken.into_iter();
                for number in numbers.iter_mut().filter(|number| number.is_none()) {
                    *number = taken.next().flatten();
                }
                break;
            }
            Err(error) => {
                session.roll_back()?;
                // Somebody may have added a key since the reference was searched, so more keys may be known now.
                let found = numbers_in(session, &table.numbers_of(&all))?;
                if found.iter().flatten().count() <= numbers.iter().flatten().count() {
                    return Err(error);
                }
                numbers = found;
            }
        }
    }
    let numbers: Option<Vec<i64>> = numbers.into_iter().collect();
    numbers.ok_or_else(|| Error::Refused {
        doing: NUMBERING.to_owned(),
        message: format!(
            "{} has no row for a key that was inserted",
            table.reference()
        ),
        hint: Some("does a trigger of the table drop rows, or change their keys?".to_owned()),
    })
}

/// The numbers in the only row that a batch returns.
fn numbers_in(session: &mut SqlSession, batch: &str) -> Result<Vec<Option<i64>>> {
    let rows = session.rows(NUMBERING, batch)?;
    let row = rows.into_iter().next().unwrap_or_default();
    let parsed = |text: Option<String>| match text {
        None => Ok(None),
        Some(text) => key_and_number(vec![Some(text)]).map(|(_, number)| Some(number)),
    };
    row.into_iter().map(parsed).collect()
}

impl MemberNumbers for RunMembers {
    fn numbers(&self, target: usize, members: usize, keys: &[Vec<String>]) -> Result<Vec<i64>> {
        let at = self.places[target][members];
        let mut given = self.state();
        let new = given.without_number(at, keys);
        if !new.is_empty() {
            let numbers = self.take(at, &new)?;
            for (key, number) in new.into_iter().zip(numbers) {
                given.give(at, key, number)?;
            }
        }
        Ok(given.of(at, keys))
    }
}
