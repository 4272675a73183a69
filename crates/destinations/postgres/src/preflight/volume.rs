//! Estimates how much the run writes on the server, to its WAL and its disk.

use inrush_engine::preflight::Finding;

use super::hazards::{self, WalSettings};
use super::predict::MeasuredPlan;
use crate::plan::Plan;

/// Bytes that a run writes on the server.
pub struct Volume {
    /// Bytes written to tables.
    pub table_bytes: f64,
    /// Bytes written to the WAL.
    pub wal_bytes: f64,
}

impl Volume {
    /// The volume for this number of bytes of text.
    pub fn of(measured: &MeasuredPlan<'_>, text_bytes: f64) -> Volume {
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
            let own = units.clone().filter(|unit| unit.shared || !wanted);
            own.map(|unit| unit.bytes_count as f64).sum()
        };
        if measured.plan.server.wal_level == "minimal" {
            // Tables that several streams fill are committed before their rows, unlike those of the trial, so their
            // rows are logged.
            wal = wal.max(tables * bytes(true) / bytes(false).max(1.0));
        }
        Volume {
            table_bytes: tables * times,
            wal_bytes: wal * times,
        }
    }

    /// The findings about this volume.
    pub fn findings(&self, plan: &Plan, settings: &WalSettings) -> Vec<Finding> {
        let mut found = hazards::of_wal(plan, self.wal_bytes, settings);
        if plan.settings.disk_check {
            let kept_wal = self.wal_bytes.min(settings.max_wal_bytes);
            found.extend(hazards::of_disk(plan, self.table_bytes, kept_wal));
        }
        found
    }
}
