//! Hints for errors that the engine and a destination report in the same words.

/// The row count of a table differs from the number of rows sent.
pub const COUNT: &str = "something else wrote to the staging table, or a trigger or rule dropped rows; \
                         `inrush cleanup`, then load again";

/// The run was stopped by its user.
pub const INTERRUPTED: &str = "the same command resumes from the committed units, if there are any";

/// A load without staging has failed.
pub const NOTHING_KEPT: &str =
    "nothing is in the targets (staging = false); the same command loads all of it";

/// A thread could not be started.
pub const THREADS: &str = "use fewer --streams, or raise the limits of this user and its processes (ulimit -u, ulimit -v, a \
                           container's pids)";
