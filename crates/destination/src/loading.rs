//! The setup that a stream gets from the engine when it is opened, and the watch that runs while streams load.

use std::fmt::Debug;
use std::sync::Arc;

use inrush_rows::pace::Pace;
use inrush_system::tcp::TcpConnection;
use inrush_verdict::Phase;

use crate::error::Result;

/// What a stream gets from the engine. If a stream does not use its pace and its meter, the engine delays and measures
/// it. A stream that uses them says so ([`UnitStream::is_metered`](crate::UnitStream::is_metered)).
#[derive(Clone)]
pub struct StreamSetup<'a> {
    /// Its number among the streams, from 1, for the name of its session; 0 if it works before or after all others.
    pub number: usize,
    /// Delays the blocks of all streams, if the package limits their rate.
    pub pace: Arc<Pace>,
    /// Gets the stream's times and bytes.
    pub meter: Arc<dyn StreamMeter>,
    /// Passes a note on to the user.
    pub note: &'a (dyn Fn(String) + Sync),
}

impl StreamSetup<'_> {
    /// A stream in addition to those of the load: it is not delayed or measured, and its notes are lost.
    pub fn alone() -> StreamSetup<'static> {
        StreamSetup {
            number: 0,
            pace: Arc::default(),
            meter: Arc::new(Unmetered),
            note: &|_| {},
        }
    }
}

/// Measures a stream. Only the stream's own thread calls it.
pub trait StreamMeter: Debug + Send + Sync {
    /// The stream's time belongs to this phase from now on, or to none. Returns the phase before.
    fn go_to(&self, phase: Option<Phase>) -> Option<Phase>;

    /// Adds bytes that were sent to the server.
    fn add_sent(&self, bytes: u64);

    /// The [number](crate::UnitStream::session_number) of the session that serves the stream, and its connection if it
    /// is TCP.
    fn served_by(&self, session: i32, tcp: Option<Arc<TcpConnection>>);
}

impl dyn StreamMeter {
    /// Begins a phase.
    pub fn enter(&self, phase: Phase) -> MeteredPhase<'_> {
        MeteredPhase {
            around: self.go_to(Some(phase)),
            meter: self,
        }
    }
}

/// A phase in progress: it ends when this is dropped, and the phase around it continues.
#[derive(Debug)]
#[must_use = "the phase ends when this is dropped"]
pub struct MeteredPhase<'a> {
    meter: &'a dyn StreamMeter,
    around: Option<Phase>,
}

impl Drop for MeteredPhase<'_> {
    fn drop(&mut self) {
        self.meter.go_to(self.around);
    }
}

/// The meter of a stream that nobody measures.
#[derive(Debug)]
pub struct Unmetered;

impl StreamMeter for Unmetered {
    fn go_to(&self, _: Option<Phase>) -> Option<Phase> {
        None
    }

    fn add_sent(&self, _: u64) {}

    fn served_by(&self, _: i32, _: Option<Arc<TcpConnection>>) {}
}

/// Watches something that must keep up with the streams, for example the standbys of the server. One thread calls
/// it, about four times a second, while others load. It ends when it is dropped.
pub trait LoadWatch: Send {
    /// Looks once; the call may block. If it fails, the run stops, because its user does not want it to continue
    /// unwatched. A call that is in progress when the run is asked to stop ends soon, with
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    fn look(&mut self) -> Result<Watched>;
}

/// The result of a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// True if the streams must wait. They wait until a later look returns false.
    pub is_paused: bool,
    /// A note about the change, if `is_paused` was different at the last look. The log gets each note, the user only
    /// the first one.
    pub note: Option<String>,
}
