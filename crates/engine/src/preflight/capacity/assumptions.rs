//! The assumptions of a simulation, as sentences.

use inrush_rows::quantity::counted;

use super::CostsFound;

impl CostsFound {
    /// The assumptions of an answer for this size.
    pub(super) fn assumptions(&self, size_bytes: f64, pieces: Option<f64>) -> Vec<String> {
        let (cut, after) = match pieces {
            None => (
                format!(
                    "the files are cut into pieces as now: {:.0} of {:.1} MB of text",
                    (size_bytes / self.piece_bytes.max(1.0)).round().max(1.0),
                    self.piece_bytes / 1e6
                ),
                "the time of the switch grows with the text; ANALYZE reads a sample of a table, and takes as long as now",
            ),
            Some(pieces) => (
                format!(
                    "there are {pieces:.0} pieces of {:.1} MB of text; in this load, a piece has {:.1} MB",
                    size_bytes / pieces.max(1.0) / 1e6,
                    self.piece_bytes / 1e6
                ),
                "the time of the switch grows with the number of pieces",
            ),
        };
        let mut found = vec![
            "CPU, WAL, and bytes that are read, written and sent grow linearly with the text"
                .to_owned(),
            format!(
                "{cut}, and each needs {:.2} s in addition to its rows",
                self.beside_s
            ),
            format!(
                "each stream is as fast as one stream alone was here ({:.1} MB/s of text) until a resource is used up",
                self.stream_bytes_s / 1e6
            ),
            format!(
                "N streams together reach {:.0} % of N times the speed of one stream, or of the speed that the cores allow; this was measured with {}",
                self.efficiency() * 100.0,
                counted(self.streams as u64, "stream")
            ),
            "a core of another machine is as fast as one here".to_owned(),
            after.to_owned(),
            format!(
                "not measured: more than {} streams at a time, their locks and memory bandwidth, indexes that no longer fit into memory, checkpoints",
                self.streams
            ),
        ];
        if self.server_cpu_s_per_gb.is_none() {
            found.push(
                "not measured: the server's CPU, because its processes are not on this machine"
                    .to_owned(),
            );
        }
        if self.is_of_database {
            found.push(
                "the source database sends rows to each stream as fast as here, whatever the \
                 number of streams, and needs no core of the loader or the server"
                    .to_owned(),
            );
        }
        if self.wal_per_text.is_none() {
            found.push("not measured: the server's WAL".to_owned());
        }
        found
    }
}
