//! Before anything is published: finds files that were written to while they were loaded.

use inrush_plan::earlier::contents::{ContentChecks, Contents, LoadedInput};
use inrush_plan::ledger::SplitRecord;
use inrush_source::{Input, Source, SourceError};

use crate::error::Error;

/// If a file was written to while it was loaded, and its size and time are the same as before, its rows may come from
/// two versions of its text. So its loaded ranges are read again and compared. `own` holds the records of all splits of
/// the file.
pub fn text(source: &dyn Source, file: &dyn Input, own: &[SplitRecord]) -> Result<(), Error> {
    // Later writes do not change the rows of a snapshot.
    if file.is_snapshot() {
        return Ok(());
    }
    let Some(now) = file.state_now() else {
        return Ok(());
    };
    // If the time differs, the file was changed after it was read, or the change was already detected while it was
    // read.
    if now.mark == file.mark() || now.modified_ns != file.modified_ns() {
        return Ok(());
    }
    let loaded = LoadedInput {
        input: file,
        state: now,
        source,
        splits: own.to_vec(),
    };
    if ContentChecks::default().look(&loaded)? == Contents::Changed {
        return Err(Error::Source(SourceError::Changed {
            path: file.name().to_path_buf(),
            what: "its text was changed, and its time was set back".to_owned(),
        }));
    }
    Ok(())
}
