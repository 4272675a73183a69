//! Estimates how much the run writes on the server, to its WAL and its disk.

use inrush_destination::LoadVolume;
use inrush_engine::planner::preflight::model::WorkPiece;

use super::predict::MeasuredPlan;

/// Bytes that a run writes on the server.
pub struct Volume {
    /// Bytes of text that are left to load.
    pub text_bytes: f64,
    /// Bytes written to tables.
    pub table_bytes: f64,
    /// Bytes written to the WAL.
    pub wal_bytes: f64,
}

impl Volume {
    /// The volume of these pieces of work; `None` if it is not known how much work is left.
    pub fn of_all(measured: &MeasuredPlan<'_>, pieces: &[WorkPiece]) -> Option<Volume> {
        let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
        let is_known = text_bytes > 0.0 || measured.left.items.is_empty();
        is_known.then(|| Volume::of(measured, text_bytes))
    }

    fn of(measured: &MeasuredPlan<'_>, text_bytes: f64) -> Volume {
        let (mut tables, mut wal, mut text) = (0.0, 0.0, 0.0);
        for flow in &measured.with_speed {
            if let Some(tried) = &flow.together_all {
                tables += tried.table_bytes as f64;
                wal += tried.wal_bytes.unwrap_or(0) as f64;
                text += tried.work.meter.text_bytes as f64;
            }
        }
        let times = text_bytes / f64::max(text, 1.0);
        let units = measured.plan.flows.iter().flat_map(|flow| &flow.units);
        let bytes = |wanted: bool| -> f64 {
            let own = units.clone().filter(|unit| unit.is_shared || !wanted);
            own.map(|unit| unit.bytes_count as f64).sum()
        };
        if measured.plan.server.wal_level == "minimal" {
            // A table that several streams fill is created and committed before their rows, so the rows are written to
            // the WAL. The tables of the trial were created in the transaction of their rows.
            wal = wal.max(tables * bytes(true) / bytes(false).max(1.0));
        }
        Volume {
            text_bytes,
            table_bytes: tables * times,
            wal_bytes: wal * times,
        }
    }

    /// The volume in whole bytes, from which the hazards of the load are found.
    pub fn of_load(&self) -> LoadVolume {
        LoadVolume {
            text_bytes: self.text_bytes.round() as u64,
            table_bytes: Some(self.table_bytes.round() as u64),
            log_bytes: Some(self.wal_bytes.round() as u64),
        }
    }
}
