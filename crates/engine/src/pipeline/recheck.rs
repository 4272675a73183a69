//! Before anything is published: finds files that were written to while they were loaded.

use std::sync::Arc;

use inrush_source::{Input, Source, SourceError};

use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::plan::contents::{ContentChecks, Contents, LoadedInput};
use crate::plan::identity;

/// If a file was written to while it was loaded, and its size and time are the same as before, its rows may come from
/// two texts. So its loaded ranges are read again and compared.
pub fn texts<'a>(
    source: &dyn Source,
    files: impl Iterator<Item = &'a Arc<dyn Input>>,
    of_flow: &[&SplitRecord],
) -> Result<(), Error> {
    let contents = ContentChecks::default();
    // Nothing that is written changes the rows of a snapshot.
    for file in files.filter(|file| !file.is_snapshot()) {
        let Some(now) = file.state_now() else {
            continue;
        };
        // A file with another time was changed after it was read, or was detected while it was read.
        if now.mark == file.mark() || now.modified_ns != file.modified_ns() {
            continue;
        }
        let key = identity::file_key(&**file);
        let of_file = of_flow.iter().filter(|split| split.file_key == key);
        let loaded = LoadedInput {
            input: &**file,
            state: now,
            source,
            splits: of_file.map(|split| (*split).clone()).collect(),
        };
        if contents.look(&loaded)? == Contents::Changed {
            return Err(Error::Source(SourceError::Changed {
                path: file.name().to_path_buf(),
                what: "its text was changed, and its time was set back".to_owned(),
            }));
        }
    }
    Ok(())
}
