//! The memory that a database's library uses in this process.

use inrush_destination::{OwnMemory, Result};

use crate::quirks::Quirks;
use crate::session::AdbcSession;

/// The resident part of DuckDB's library, and DuckDB's memory outside its buffers: its catalog, statements, and
/// vectors. Measured with one file: 46 MiB.
const LIBRARY_BYTES: u64 = 64 << 20;

/// Queries the database's memory limit, if it has one.
pub fn ask(session: &mut AdbcSession, quirks: &Quirks) -> Result<OwnMemory> {
    let Some(setting) = quirks.memory_limit else {
        return Ok(OwnMemory::Unknown);
    };
    let statement = format!("SELECT current_setting('{setting}')");
    let rows = session.rows(
        "cannot read how much memory the database may take",
        &statement,
    )?;
    let limit = rows.into_iter().flatten().flatten().next();
    Ok(match limit.as_deref().and_then(bytes_of) {
        Some(buffers_bytes_max) => OwnMemory::Limited {
            library_bytes: LIBRARY_BYTES,
            buffers_bytes_max,
            setting: setting.to_owned(),
        },
        None => OwnMemory::Unknown,
    })
}

/// The bytes of `18.8 GiB`. The last digit is rounded, so this returns the largest number that it can mean.
fn bytes_of(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let shift = match unit {
        "bytes" | "B" => return number.parse().ok(),
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some(((number + 0.05) * (1_u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_duckdb_writes_them() {
        for (text, bytes) in [
            ("0 bytes", Some(0)),
            ("64.0 KiB", Some(65_587)),
            ("953.6 MiB", Some(999_974_502)),
            ("18.8 GiB", Some(20_240_033_382)),
            ("unlimited", None),
            ("1.0 PB", None),
        ] {
            assert_eq!(bytes_of(text), bytes, "{text}");
        }
    }
}
