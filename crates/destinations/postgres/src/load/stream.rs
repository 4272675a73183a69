//! A session of a stream, as the contract sees it. Each call waits in the runtime until it is done, or until the run is asked
//! to stop: then the call ends at once, whether it waits for a lock, in a COPY or for a COMMIT.

use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::{
    CompleteUnit, LoadMethod, Result, StreamSetup, UnitPart, UnitRecord, UnitStream, Written,
    WrittenSplits,
};
use inrush_verdict::Phase;

use super::piece::Piece;
use super::prepared::PostgresRun;
use super::reload::Reload;
use super::rows::Note;
use super::shared_unit;
use crate::Session;
use crate::load_error::LoadError;
use crate::plan::additions::Additions;
use crate::plan::unit_steps::SPLITS_AT_A_TIME;

/// A stream with its session.
pub struct SessionStream<'a> {
    run: &'a PostgresRun,
    note: Note<'a>,
    /// `None` once the stream is dropped.
    session: Option<Session>,
    /// True if the session is the run's control session, which is still used after this stream.
    is_control: bool,
    /// The requirements of units that this stream loads again.
    reload: Option<Arc<Reload>>,
    /// The open unit, or the open part of a unit.
    open: Option<Piece<'a>>,
    /// True if a unit was left open, so that the session may still be busy.
    has_given_up: bool,
}

impl<'a> SessionStream<'a> {
    /// Connects.
    pub fn connect(run: &'a PostgresRun, setup: &StreamSetup<'a>) -> Result<SessionStream<'a>> {
        let name = format!("inrush {} stream {}", run.record.name, setup.number);
        let opening = setup.meter.enter(Phase::ServerWait);
        let session = run.runtime.block_on(Session::open(&run.address, &name))?;
        drop(opening);
        Ok(SessionStream::new(run, setup, &session, false))
    }

    /// A stream that uses the control session.
    pub fn of_control(run: &'a PostgresRun, setup: &StreamSetup<'a>) -> SessionStream<'a> {
        SessionStream::new(run, setup, &run.control, true)
    }

    /// A stream that loads units again by the control session. The streams of the load have ended, so the rate limit of the run
    /// does not count.
    pub fn of_reload(
        run: &'a PostgresRun,
        setup: &StreamSetup<'a>,
        reload: Arc<Reload>,
    ) -> SessionStream<'a> {
        let setup = StreamSetup {
            pace: Arc::clone(&run.control.pace),
            ..setup.clone()
        };
        let mut stream = SessionStream::of_control(run, &setup);
        stream.reload = Some(reload);
        stream
    }

    /// No unit is open.
    fn new(
        run: &'a PostgresRun,
        setup: &StreamSetup<'a>,
        session: &Session,
        is_control: bool,
    ) -> SessionStream<'a> {
        let session = session.of_stream(&setup.pace, &setup.meter);
        let tcp = session.watch.tcp();
        session.meter.served_by(session.backend_process_id, tcp);
        SessionStream {
            run,
            note: setup.note,
            session: Some(session),
            is_control,
            reload: None,
            open: None,
            has_given_up: false,
        }
    }

    fn session(&self) -> &Session {
        self.session.as_ref().expect(CONNECTED)
    }

    /// Waits for the server until the run is asked to stop. `target` is the index of the open unit's target.
    fn wait<T, E: Into<LoadError>>(
        run: &PostgresRun,
        target: usize,
        call: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        run.ask(call).map_err(|error| error.of_target(target))
    }

    /// The open piece, with what it needs to wait for the server.
    fn piece(&mut self) -> (&'a PostgresRun, usize, &mut Piece<'a>) {
        let piece = self.open.as_mut().expect("a unit was begun");
        (self.run, piece.target(), piece)
    }
}

impl Drop for SessionStream<'_> {
    fn drop(&mut self) {
        self.give_up();
        let is_stopped = self.run.stop.asked().is_some();
        if is_stopped && self.reload.is_some() {
            // Its running statement is cancelled and undone, because the run still uses this session.
            self.run.runtime.block_on(self.run.undo_in_time());
        }
        let is_at_rest = !self.has_given_up && !is_stopped;
        let Some(session) = self.session.take().filter(|_| !self.is_control) else {
            return;
        };
        match is_at_rest && !std::thread::panicking() {
            true => self.run.runtime.block_on(session.close()),
            false => session.abandon(),
        }
    }
}

/// The panic message if a call needs the session after the end of the stream.
const CONNECTED: &str = "a stream has its session until it is dropped";

impl UnitStream for SessionStream<'_> {
    fn session_number(&self) -> Option<i32> {
        Some(self.session().backend_process_id)
    }

    fn is_metered(&self) -> bool {
        true
    }

    fn keeps_splits(&self) -> Option<usize> {
        Some(SPLITS_AT_A_TIME)
    }

    fn begin(&mut self, unit: &UnitPart<'_>, method: LoadMethod) -> Result<()> {
        let SessionStream {
            run,
            note,
            session,
            reload,
            open,
            ..
        } = self;
        let session = session.as_ref().expect(CONNECTED);
        let place = (unit.target, unit.unit);
        let additions = match reload {
            Some(reload) => {
                let beginning = reload.begin(run, session, place);
                SessionStream::wait(run, unit.target, beginning)?
            }
            None => Additions::default(),
        };
        let piece = Piece::new(run, *note, session, additions, place, method, unit.splits);
        let piece = open.insert(piece);
        SessionStream::wait(run, unit.target, piece.begin())
    }

    fn begin_split(&mut self, name: &str) -> Result<()> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.begin_split(name))
    }

    fn write(&mut self, batch: &RecordBatch, refused_max: u64) -> Result<Written> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.rows().write(batch, refused_max))
    }

    fn native_block(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        self.open.as_mut()?.rows().native_block()
    }

    fn appended(&mut self, rows: u64) -> Result<()> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.rows().appended(rows))
    }

    fn end_split(&mut self) -> Result<()> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.rows().end_split())
    }

    fn record(&mut self, written: WrittenSplits) -> Result<()> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.record(written))
    }

    fn commit(&mut self, record: &UnitRecord) -> Result<u64> {
        let (run, target, piece) = self.piece();
        SessionStream::wait(run, target, piece.commit())?;
        self.open = None;
        Ok(record.rows_loaded)
    }

    fn abort(&mut self) -> Result<()> {
        let run = self.run;
        // A COPY that has sent half of a block ends it in the runtime, so the piece must be dropped there.
        let _runtime = run.runtime.enter();
        let Some(mut piece) = self.open.take() else {
            return Ok(());
        };
        SessionStream::wait(run, piece.target(), piece.roll_back())
    }

    /// The rollback is sent before the session's next statement, and is not waited for.
    fn give_up(&mut self) {
        let _runtime = self.run.runtime.enter();
        self.has_given_up |= self.open.take().is_some();
    }

    fn finish(&mut self, unit: &CompleteUnit<'_>) -> Result<()> {
        let (run, session) = (self.run, self.session());
        let place = (unit.target, unit.unit);
        let finishing = shared_unit::finish(run, session, place, unit.fed);
        SessionStream::wait(run, unit.target, finishing)
    }
}
