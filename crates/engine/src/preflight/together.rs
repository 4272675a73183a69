//! Measurements of all steps together, as in a run. Only these show how streams slow each other down, above all by
//! sharing cores.

use inrush_destination::TrialLoad;

use super::sample_batches::SampleWork;
use crate::error::Error;
use crate::meter::Meter;

/// The result over all streams.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// The time by phase, and the rows and bytes.
    pub work: SampleWork,
    /// Bytes of text in a second, of all streams together.
    pub text_bytes_s: f64,
    /// Rows in a second.
    pub rows_s: f64,
    /// The seconds from the first row to the server's answer, summed over all streams.
    pub stream_s: f64,
    /// Seconds from the first stream's start to the last one's answer.
    pub took_s: f64,
    /// Cores that the loader kept busy.
    pub client_cores: f64,
    /// Cores that the backends kept busy, if that can be measured.
    pub server_cores: Option<f64>,
    /// Cores that the backends of a source database kept busy, if that can be measured.
    pub source_cores: Option<f64>,
    /// The time that a unit needs apart from its rows.
    pub beside: BesideRows,
    /// Bytes that the tables take.
    pub table_bytes: u64,
    /// Bytes of WAL that the server wrote meanwhile, including those of other sessions.
    pub wal_bytes: Option<u64>,
}

/// Mean seconds of a table apart from its rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct BesideRows {
    /// Mean number of rows of the measured tables.
    pub rows: f64,
    /// Seconds of connecting.
    pub connect_s: f64,
    /// Seconds of creating the table.
    pub create_s: f64,
    /// Seconds of counting and verifying.
    pub measure_s: f64,
    /// Seconds of adding indexes, and the CHECK if it was not added before the rows.
    pub ready_s: f64,
    /// Seconds of ANALYZE.
    pub analyze_s: f64,
    /// Seconds of copying the rows into a table like the target, if the switch does that.
    pub copy_s: Option<f64>,
    /// CPU seconds of the server for counting, preparing and ANALYZE; absent if its CPU was not seen, or if rows were
    /// copied as well.
    pub server_cpu_s: Option<f64>,
}

impl BesideRows {
    /// Adds the seconds of one stream to the mean. `part` is the weight of a stream in the mean.
    pub fn add(&mut self, one: &BesideRows, part: f64) {
        self.rows += one.rows * part;
        self.connect_s += one.connect_s * part;
        self.create_s += one.create_s * part;
        self.measure_s += one.measure_s * part;
        self.ready_s += one.ready_s * part;
        self.analyze_s += one.analyze_s * part;
        if let Some(cpu_s) = one.server_cpu_s {
            self.server_cpu_s = Some(self.server_cpu_s.unwrap_or(0.0) + cpu_s * part);
        }
    }

    /// The server's CPU time as a share of the time after the rows; absent if its CPU was not seen.
    pub fn cpu_share(&self) -> Option<f64> {
        let after_rows_s = self.measure_s + self.ready_s + self.analyze_s;
        let cpu_s = self.server_cpu_s.filter(|_| after_rows_s > 0.0)?;
        Some((cpu_s / after_rows_s).min(1.0))
    }
}

impl Together {
    /// The share of the streams' time that the loader's own work takes.
    pub fn client_share(&self) -> f64 {
        let meter: &Meter = &self.work.meter;
        let waited_ns = meter.send_wait_ns + meter.pace_wait_ns + self.work.of_database.wait_ns;
        (1.0 - self.share(waited_ns)).clamp(0.0, 1.0)
    }

    /// The part of the streams' time in the steps of flows.
    pub fn transform_share(&self) -> f64 {
        self.share(self.work.meter.transform_ns).clamp(0.0, 1.0)
    }

    /// The share of the streams' time in which they wait for rows of a source database.
    pub fn source_share(&self) -> f64 {
        self.share(self.work.of_database.wait_ns).clamp(0.0, 1.0)
    }

    fn share(&self, part_ns: u64) -> f64 {
        part_ns as f64 / 1e9 / self.stream_s.max(1e-9)
    }

    /// Tries the publish, too. For this, one of the streams may copy the rows after its other work; then the CPU time
    /// of its other work is not known.
    pub fn try_publish(&mut self, load: &dyn TrialLoad) -> Result<(), Error> {
        self.beside.copy_s = load.publish()?;
        if self.beside.copy_s.is_some() {
            self.beside.server_cpu_s = None;
        }
        Ok(())
    }

    /// Notes that the backends of a source database used cores, too.
    pub fn count_source(&mut self) {
        let cpu_us = self.work.of_database.cpu_us;
        self.source_cores = cpu_us.map(|cpu_us| cpu_us as f64 / 1e6 / self.took_s.max(1e-9));
    }
}
