//! The prediction of a preflight, which is stored until its run.

use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use inrush_rows::ids::RunKey;
use inrush_system::small_file::SmallFile;
use inrush_verdict::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folder::private_file;
use crate::error::Error;

/// The predicted times of a run. The report of a later run of the same package compares them with the measured times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The time of the prediction, RFC 3339.
    pub made_at: String,
    /// The number of streams that it applies to.
    pub streams: usize,
    /// The size of the files as stored, in bytes, that it applies to.
    pub stored_bytes: u64,
    /// Seconds of the whole run.
    pub predicted_s: f64,
    /// Seconds of planning, as measured in the preflight.
    pub plan_s: f64,
    /// Seconds from the start of the first stream to the end of the last stream.
    pub load_s: f64,
    /// Seconds of checking the account and switching.
    pub switch_s: f64,
    /// Seconds of ANALYZE after the switch.
    pub analyze_s: f64,
    /// The step that limits the run.
    pub limiting: Cause,
    /// The evidence for that step, in words and figures.
    pub because: String,
    /// The parts of a run that the prediction does not include.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves_out: Vec<String>,
}

impl Prediction {
    /// The limiting step, in words.
    pub fn limiting_words(&self) -> &'static str {
        match self.limiting {
            Cause::SourceRead => "reading the source",
            Cause::SourceDatabaseCpu => "the CPU of the source's server",
            Cause::SourceDatabaseDisk => "the disk of the source's server",
            Cause::SourceDatabaseNetwork => "the network from the source's server",
            Cause::Decompression => "decompressing",
            Cause::ClientCpu => "the loader's CPU",
            Cause::TransformCpu => "the steps of the flow",
            Cause::NetworkLatency => "the network's round trip",
            Cause::NetworkRate => "the network's rate",
            Cause::NetworkLoss => "the network's losses",
            Cause::DestinationCpu => "the destination's CPU",
            Cause::DestinationDisk => "the destination's disk",
            Cause::DestinationLocks => "locks at the destination",
            Cause::Coordination => "the long tail",
            Cause::Pace => "the rate limit",
            Cause::Undecided => "not decided by the evidence",
        }
    }
}

/// The file of a prediction.
const FILE: SmallFile = SmallFile {
    what: "a prediction (JSON)",
    bytes_max: 1 << 20,
    may_be_pipe: false,
};

/// The file of a package's prediction, in the folder of runs. Its name is the key by which a stopped run is found.
fn path(runs_folder: &Path, run_key: &RunKey) -> PathBuf {
    runs_folder.join(format!("preflight-{}.json", run_key.short()))
}

/// Writes a prediction for the next run; replaces an earlier prediction.
pub fn leave_prediction(
    runs_folder: &Path,
    run_key: &RunKey,
    prediction: &Prediction,
) -> Result<PathBuf, Error> {
    let path = path(runs_folder, run_key);
    let write = || {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(runs_folder)?;
        let text = serde_json::to_vec_pretty(prediction)?;
        let draft = path.with_extension("draft");
        let mut file = private_file(&draft, false)?;
        file.write_all(&text)?;
        fs::rename(&draft, &path)
    };
    write().map_err(|source| Error::Folder {
        path: path.display().to_string(),
        source,
    })?;
    Ok(path)
}

/// The prediction for a run with these numbers of streams and bytes, if there is one.
pub fn find_prediction(
    runs_folder: &Path,
    run_key: &RunKey,
    streams: usize,
    stored_bytes: u64,
) -> Option<Prediction> {
    let text = FILE.read(&path(runs_folder, run_key)).ok()?;
    let found: Prediction = serde_json::from_slice(&text).ok()?;
    (found.streams == streams && found.stored_bytes == stored_bytes).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_found_by_the_run_that_it_is_about() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs");
        let prediction = Prediction {
            made_at: "2026-01-01T00:00:00Z".to_owned(),
            streams: 4,
            stored_bytes: 1000,
            predicted_s: 2.5,
            plan_s: 0.1,
            load_s: 2.0,
            switch_s: 0.2,
            analyze_s: 0.2,
            limiting: Cause::DestinationCpu,
            because: "streams wait".to_owned(),
            leaves_out: Vec::new(),
        };
        let key = &RunKey::new("0123456789abcdef0123");
        assert_eq!(find_prediction(&runs, key, 4, 1000), None);
        let path = leave_prediction(&runs, key, &prediction).expect("room");
        assert_eq!(path, runs.join("preflight-0123456789abcdef.json"));
        assert_eq!(find_prediction(&runs, key, 4, 1000), Some(prediction));
        assert_eq!(find_prediction(&runs, key, 2, 1000), None);
        assert_eq!(find_prediction(&runs, key, 4, 1001), None);
        let other = RunKey::new("fedcba9876543210");
        assert_eq!(find_prediction(&runs, &other, 4, 1000), None);
        assert_eq!(fs::read_dir(&runs).expect("it is there").count(), 1);
    }
}
