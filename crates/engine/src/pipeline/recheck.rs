//! Before anything is published: files that were written to while they were loaded.

use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;
use inrush_source::SourceError;

use crate::error::Error;
use crate::ledger::SplitRecord;
use crate::plan::contents::{ContentChecks, Contents};
use crate::plan::identity;

/// A file that was written to while it was loaded, and whose size and time are the same as before, has given rows of
/// two texts. So its loaded ranges are read again and compared.
pub async fn texts<'a>(
    dialect: &Dialect,
    files: impl Iterator<Item = &'a Arc<SourceFile>>,
    of_flow: &[&SplitRecord],
    stop: &Stop,
) -> Result<(), Error> {
    let contents = ContentChecks::default();
    for file in files {
        let Some((state, modified_ns)) = file.state_now() else {
            continue;
        };
        // A change at any other time came after the read, or was found then.
        if state == file.state || modified_ns != file.modified_ns {
            continue;
        }
        let mut now = SourceFile::clone(file);
        now.state = state;
        let now = Arc::new(now);
        let key = identity::file_key(file);
        let is_of_file = |split: &&&SplitRecord| split.file_key == key;
        let of_file: Vec<&SplitRecord> = of_flow.iter().filter(is_of_file).copied().collect();
        let looked = contents.look(&now, dialect, &of_file, stop);
        if looked.await? == Contents::Changed {
            return Err(Error::Source(SourceError::Changed {
                path: file.path.to_path_buf(),
                what: "its text was changed, and its time was set back".to_owned(),
            }));
        }
    }
    Ok(())
}
