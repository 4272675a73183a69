//! The connection of one thread to staging: a transaction for each unit.

use arrow_array::RecordBatch;
use inrush_destination::{Error, LoadMethod, Result, UnitPart, UnitRecord, UnitStream, Written};

use crate::bulk_writer::BulkWriter;
use crate::careful::Trial;
use crate::connection::{COMMIT, SqlSession};
use crate::run::SqlRun;

/// The connection of one thread to staging.
pub struct Stream<'a> {
    run: &'a SqlRun,
    /// The number of the session in the run, which selects the endpoint.
    number: usize,
    /// None before the first unit, and after a unit that could not be rolled back.
    session: Option<SqlSession>,
    unit: Option<OpenUnit>,
}

/// A unit that is being written.
enum OpenUnit {
    /// Its rows are sent into staging.
    Quick(BulkWriter),
    /// Its rows are sent into a trial. The rows that the target accepts go from there into staging.
    Careful(Trial),
}

impl<'a> Stream<'a> {
    /// A stream of a run.
    pub fn new(run: &'a SqlRun, number: usize, session: SqlSession) -> Stream<'a> {
        Stream {
            run,
            number,
            session: Some(session),
            unit: None,
        }
    }

    /// The open session, or a new one.
    fn session(&mut self) -> Result<&mut SqlSession> {
        if self
            .session
            .as_ref()
            .is_none_or(|session| !session.is_open())
        {
            self.session = Some(self.run.connect(self.number)?);
        }
        Ok(self.session.as_mut().expect("it was made"))
    }

    fn open_parts(&mut self) -> (&mut SqlSession, &mut OpenUnit) {
        let session = self.session.as_mut().expect("a unit has a session");
        (session, self.unit.as_mut().expect("a unit was begun"))
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.as_mut().filter(|_| self.unit.is_none()) {
            self.run.note_waits(session);
        }
    }
}

impl UnitStream for Stream<'_> {
    fn session_number(&self) -> Option<i32> {
        self.session.as_ref()?.number_on_server()
    }

    /// All units of a target share its staging table.
    fn begin(&mut self, unit: &UnitPart<'_>, method: LoadMethod) -> Result<()> {
        let target = unit.target;
        assert!(
            self.unit.is_none(),
            "a unit is ended before the next one begins"
        );
        let run = self.run;
        run.make_bare(target)?;
        let session = self.session()?;
        let packet_size = session.facts().packet_size;
        session.begin()?;
        run.ledger.fence(session, &run.record)?;
        let staging = &run.stagings[target];
        self.unit = Some(match method {
            LoadMethod::Quick => {
                let doing = format!(
                    "cannot add rows to the staging table of {}",
                    staging.plan.name.sql
                );
                let bulk_target = run.bulk_targets[target].clone();
                OpenUnit::Quick(BulkWriter::new(bulk_target, doing, packet_size))
            }
            LoadMethod::Careful => {
                OpenUnit::Careful(Trial::begin(session, staging, &run.options, packet_size)?)
            }
        });
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _: u64) -> Result<Written> {
        let (session, unit) = self.open_parts();
        match unit {
            OpenUnit::Quick(writer) => Ok(Written {
                misfits: writer.write(session, batch)?,
                ..Written::default()
            }),
            OpenUnit::Careful(trial) => trial.write(session, batch),
        }
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        let (session, unit) = self.open_parts();
        let (counted, sent) = match unit {
            OpenUnit::Quick(writer) => (writer.end(session)?, writer.sent_rows()),
            OpenUnit::Careful(trial) => trial.end(session)?,
        };
        if counted != record.rows_loaded || sent != record.rows_loaded {
            return Err(Error::Count {
                what: format!("the staged rows of {}", record.target),
                counted,
                sent: record.rows_loaded,
            });
        }
        let session = self.session.as_mut().expect("a unit has a session");
        let kept = self.run.members.keep(session)?;
        // One round trip: the unit's row, and the commit.
        let statement = self
            .run
            .ledger
            .unit_statement(self.run.record.run_id, record);
        session.run("cannot commit a unit", &format!("{statement}; {COMMIT}"))?;
        self.run.members.committed(&kept);
        self.unit = None;
        Ok(counted)
    }

    fn abort(&mut self) -> Result<()> {
        self.unit = None;
        if let Some(session) = &mut self.session
            && session.roll_back().is_err()
        {
            // The connection is closed, which rolls back as well.
            self.session = None;
        }
        Ok(())
    }
}
