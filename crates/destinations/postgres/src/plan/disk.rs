//! Checks that a load fits on the server's disk. A server does not report its free space, so only the disk of a server
//! on this machine, reached by its socket, is checked.

use std::path::PathBuf;

use inrush_plan::PlanError;
use inrush_rows::quantity::bytes;
use inrush_system::free_space::free_bytes;
use tokio_postgres::config::Host;

use super::{FlowPlan, Publish};
use crate::plan::failure::PlanFailure;
use crate::{DatabaseAddress, Session, server_facts};

/// A table is seldom smaller than half of its text, so a load very likely does not fit into less space.
const SMALLEST_SHARE: u64 = 2;

/// The disk of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFacts {
    /// The folder of its tables.
    pub folder: PathBuf,
    /// Bytes that are free there.
    pub free_bytes: u64,
    /// Bytes of text to be loaded; text that is stored twice counts twice.
    pub text_bytes: u64,
}

/// Examines the disk of a server on this machine.
pub async fn look(
    session: &Session,
    address: &DatabaseAddress,
    flows: &[FlowPlan],
) -> Result<Option<DiskFacts>, PlanFailure> {
    if !matches!(address.place().host, Host::Unix(_)) {
        return Ok(None);
    }
    let Some(folder) = server_facts::table_folder(session)
        .await?
        .map(PathBuf::from)
    else {
        return Ok(None);
    };
    // The socket of a container may be on this machine without the server's folders.
    let Some(free_bytes) = free_bytes(&folder).ok().filter(|_| folder.is_absolute()) else {
        return Ok(None);
    };
    Ok(Some(DiskFacts {
        folder,
        free_bytes,
        text_bytes: flows.iter().map(text_bytes).sum(),
    }))
}

/// The text of a flow; counted twice if its rows are copied from staging into the target.
fn text_bytes(flow: &FlowPlan) -> u64 {
    let once: u64 = flow.units.iter().map(|unit| unit.bytes_count).sum();
    match flow.publish {
        Publish::Insert => 2 * once,
        _ => once,
    }
}

impl DiskFacts {
    /// Refuses a load that cannot fit.
    pub fn require_room(&self) -> Result<(), PlanError> {
        if self.free_bytes >= self.text_bytes / SMALLEST_SHARE {
            return Ok(());
        }
        Err(PlanError::Room {
            text: bytes(self.text_bytes),
            free: bytes(self.free_bytes),
            folder: self.folder.display().to_string(),
        })
    }
}
