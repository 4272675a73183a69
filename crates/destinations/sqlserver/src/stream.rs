//! The connection of one thread to staging: a transaction for each unit.

use std::collections::BTreeSet;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use inrush_destination::{
    Error, LoadMethod, Misfit, Result, UnitPart, UnitRecord, UnitStream, Written,
};
use inrush_tds::{BulkEncoder, EncodeError};

use crate::connection::{self, SqlSession};
use crate::run::SqlRun;

/// Packets are sent once this many bytes of them are complete.
const SEND_BYTES: usize = 256 << 10;

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
struct OpenUnit {
    target: usize,
    encoder: BulkEncoder,
    sent_rows: u64,
    /// INSERT BULK was run, and the server waits for packets.
    is_begun: bool,
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

    fn doing(&self, target: usize) -> String {
        format!(
            "cannot add rows to the staging table of {}",
            self.run.stagings[target].plan.name.sql
        )
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

    /// Sends the complete packets; at the end of a message, all of them.
    fn send(&mut self, is_end: bool) -> Result<()> {
        let target = self.unit.as_ref().expect("a unit was begun").target;
        let doing = self.doing(target);
        let (session, unit) = self.open_parts();
        if !is_end && unit.encoder.ready().len() < SEND_BYTES {
            return Ok(());
        }
        let sent = session.bulk().send(unit.encoder.ready());
        unit.encoder.clear_ready();
        sent.map_err(|error| connection::refused(&doing, error))
    }

    /// Runs INSERT BULK, and begins the message of its rows.
    fn begin_rows(&mut self) -> Result<()> {
        let target = self.unit.as_ref().expect("a unit was begun").target;
        let doing = self.doing(target);
        let statement = &self.run.bulk_targets[target].statement;
        let (session, unit) = self.open_parts();
        session
            .bulk()
            .begin_bulk_load(statement)
            .map_err(|error| connection::refused(&doing, error))?;
        unit.encoder.begin();
        unit.is_begun = true;
        Ok(())
    }

    /// Encodes the rows that fit, and returns the others.
    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Misfit>> {
        let target = self.unit.as_ref().expect("a unit was begun").target;
        let doing = self.doing(target);
        let places = &self.run.bulk_targets[target].places;
        let batch = &batch.project(places).map_err(|error| Error::Refused {
            doing: doing.clone(),
            message: error.to_string(),
            hint: None,
        })?;
        let fault = |error: EncodeError| Error::Refused {
            doing: doing.clone(),
            message: error.to_string(),
            hint: None,
        };
        let unit = self.unit.as_mut().expect("a unit was begun");
        match unit.encoder.encode(batch) {
            Ok(()) => {
                unit.sent_rows += batch.num_rows() as u64;
                return Ok(Vec::new());
            }
            Err(EncodeError::Value(_)) => {}
            Err(error) => return Err(fault(error)),
        }
        let found = unit.encoder.misfits(batch).map_err(fault)?;
        let mut misfits: Vec<Misfit> = Vec::new();
        for misfit in found {
            // Only the first fault of a row is reported.
            if misfits.last().is_none_or(|last| last.row != misfit.row) {
                misfits.push(Misfit {
                    row: misfit.row,
                    column: places[misfit.column_index],
                    reason: format!(
                        "does not fit into its column of SQL Server: {}",
                        misfit.fault
                    ),
                });
            }
        }
        let left_out: BTreeSet<usize> = misfits.iter().map(|misfit| misfit.row).collect();
        let fits: BooleanArray = (0..batch.num_rows())
            .map(|row| Some(!left_out.contains(&row)))
            .collect();
        let rest = filter_record_batch(batch, &fits).map_err(|error| Error::Refused {
            doing: doing.clone(),
            message: error.to_string(),
            hint: None,
        })?;
        if rest.num_rows() > 0 {
            unit.encoder.encode(&rest).map_err(fault)?;
        }
        unit.sent_rows += rest.num_rows() as u64;
        Ok(misfits)
    }

    /// Ends the message of rows. Returns the server's count.
    fn end_rows(&mut self) -> Result<u64> {
        let (target, is_begun) = {
            let unit = self.unit.as_ref().expect("a unit was begun");
            (unit.target, unit.is_begun)
        };
        if !is_begun {
            return Ok(0);
        }
        self.unit.as_mut().expect("a unit was begun").encoder.end();
        self.send(true)?;
        let doing = self.doing(target);
        let (session, unit) = self.open_parts();
        unit.is_begun = false;
        session
            .bulk()
            .end_bulk_load()
            .map_err(|error| connection::refused(&doing, error))
    }
}

impl UnitStream for Stream<'_> {
    /// All units of a target share its staging table.
    fn begin(&mut self, unit: &UnitPart<'_>, _: LoadMethod) -> Result<()> {
        let target = unit.target;
        assert!(
            self.unit.is_none(),
            "a unit is ended before the next one begins"
        );
        let run = self.run;
        let session = self.session()?;
        let packet_size = session.facts().packet_size;
        session.begin()?;
        run.ledger.fence(session, &run.record)?;
        let columns = run.bulk_targets[target].columns.clone();
        self.unit = Some(OpenUnit {
            target,
            encoder: BulkEncoder::new(columns, packet_size),
            sent_rows: 0,
            is_begun: false,
        });
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<Written> {
        if !self.unit.as_ref().expect("a unit was begun").is_begun {
            self.begin_rows()?;
        }
        let misfits = self.encode(batch)?;
        self.send(false)?;
        Ok(Written {
            misfits,
            refused: Vec::new(),
        })
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        let counted = self.end_rows()?;
        let sent = self.unit.as_ref().expect("a unit was begun").sent_rows;
        if counted != record.rows_loaded || sent != record.rows_loaded {
            return Err(Error::Count {
                what: format!("what is staged for {}", record.target),
                counted,
                sent: record.rows_loaded,
            });
        }
        // One round trip: the unit's row, and the commit.
        let statement = self
            .run
            .ledger
            .unit_statement(self.run.record.run_id, record);
        let session = self.session.as_mut().expect("a unit has a session");
        session.run(
            "cannot commit a unit",
            &format!("{statement}; COMMIT TRANSACTION"),
        )?;
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
