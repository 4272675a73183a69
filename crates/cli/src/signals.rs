//! SIGINT and SIGTERM: the first one stops the run cleanly, the second one at once.
//!
//! One thread of the process waits for signals and passes them to the present work. If there is none, a signal ends the
//! command ([`of_command`]); in a Python process that uses the library, it then has its earlier effect.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use inrush::ExitStatus;
use inrush::cancel::{Stop, StopReason};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::c_library::has_default_action;
use crate::output;

/// How to resume after a run that read a pipe and was stopped.
pub const AFTER_A_PIPE: &str = "the data read from a pipe is lost, and its rows are not loaded: \
     send all of the data again, to the same command; committed files are kept";

/// The work that a signal stops.
enum Work {
    /// A run, which ends by itself when it is asked to stop.
    Run {
        stop: Stop,
        was_asked: bool,
        left: Left,
    },
    /// Work that keeps nothing: it ends at once, and this folder is removed.
    Disposable { folder: Option<PathBuf> },
}

/// What remains of a run that is ended at once.
#[derive(Clone, Debug)]
pub enum Left {
    /// Units in a database; the same command resumes from them.
    Units,
    /// Committed units, except for rows from a pipe.
    UnitsButOfPipes,
    /// Complete files; the same command resumes from them.
    Files,
    /// All or nothing: one transaction. Only the server knows whether it was committed.
    OneTransaction,
    /// Nothing of use; this folder is removed.
    Nothing(Option<PathBuf>),
}

static WORK: Mutex<Option<Work>> = Mutex::new(None);

/// True if this process is the command, false if it is a Python program that uses the library.
static IS_COMMAND: AtomicBool = AtomicBool::new(false);

/// While this value lives, a signal ends the command.
pub struct Command(());

impl Drop for Command {
    fn drop(&mut self) {
        IS_COMMAND.store(false, Ordering::Relaxed);
    }
}

/// Lets a signal end the command with the documented exit status at any time, even if no work is under way.
pub fn of_command() -> Command {
    IS_COMMAND.store(true, Ordering::Relaxed);
    wait_for_signals();
    Command(())
}

/// While this value lives, signals reach the work.
pub struct Guard(());

impl Drop for Guard {
    fn drop(&mut self) {
        *work() = None;
    }
}

/// Lets signals ask a run to stop.
pub fn stop_cleanly(stop: &Stop, left: Left) -> Guard {
    begin(Work::Run {
        stop: stop.clone(),
        was_asked: false,
        left,
    })
}

/// Lets a signal end the process at once, and remove a folder.
pub fn end_at_once(folder: Option<PathBuf>) -> Guard {
    begin(Work::Disposable { folder })
}

fn begin(new: Work) -> Guard {
    wait_for_signals();
    *work() = Some(new);
    Guard(())
}

fn work() -> std::sync::MutexGuard<'static, Option<Work>> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread that waits for signals, once.
fn wait_for_signals() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let had_default = [SIGINT, SIGTERM].map(|signal| (signal, has_default_action(signal)));
        // Without the handlers a signal ends the process as before; that is not an error of the load.
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
            return;
        };
        let waiting = move || {
            for signal in signals.forever() {
                handle(signal, had_default.contains(&(signal, true)));
            }
        };
        let _ = std::thread::Builder::new()
            .name("inrush-signals".to_owned())
            .spawn(waiting);
    });
}

/// A file that exceeds the size limit (`ulimit -f`) is an error of the write, as in Python, and does not end the
/// process.
pub fn survive_file_limit() {
    if has_default_action(SIGXFSZ) {
        // If the handler cannot be set, the signal keeps its previous effect.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

fn handle(signal: i32, had_default: bool) {
    match &mut *work() {
        Some(Work::Run {
            was_asked: true,
            left,
            ..
        }) => {
            match left {
                Left::Units => output::errors(
                    "stopped at once; the same command resumes from the committed units",
                ),
                Left::UnitsButOfPipes => {
                    output::errors(&format!("stopped at once; {AFTER_A_PIPE}"));
                }
                Left::Files => output::errors(
                    "stopped at once; the same command generates the incomplete files again",
                ),
                Left::OneTransaction => output::errors(
                    "stopped at once; if `inrush status` lists the run, none of its rows are in \
                     the targets, otherwise all are",
                ),
                Left::Nothing(folder) => {
                    remove(folder.as_deref());
                    output::errors("stopped at once");
                }
            }
            exit();
        }
        Some(Work::Run {
            stop, was_asked, ..
        }) => {
            *was_asked = true;
            output::errors("stopping; a second signal stops at once");
            stop.ask(StopReason::Interrupted);
        }
        Some(Work::Disposable { folder }) => {
            remove(folder.as_deref());
            exit();
        }
        None if IS_COMMAND.load(Ordering::Relaxed) => exit(),
        // The earlier handler was called too, unless it was the default one.
        None if had_default => {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        None => {}
    }
}

fn remove(folder: Option<&Path>) {
    if let Some(folder) = folder {
        // At this point nobody is left to whom a failure could be reported.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Ends the process without waiting for any thread. The embedded server notices that the process has ended.
fn exit() -> ! {
    signal_hook::low_level::exit(i32::from(ExitStatus::Interrupted.code()))
}
