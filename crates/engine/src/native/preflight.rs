//! The measurements of a preflight: the trait of a measured destination, the measurements that all destinations share, and
//! the arithmetic that predicts a run from them.

pub use crate::preflight::at_once::{on_a_thread_each, own_cpu_s};
pub use crate::preflight::client::Client;
pub use crate::preflight::findings::record_input_error;
pub use crate::preflight::measure::{MeasuredDestination, measure};
pub use crate::preflight::measuring_time::{MeasuringTime, STEP_TIME};
pub use crate::preflight::read::ReadFound;
pub use crate::preflight::throughput::Throughput;
pub use crate::preflight::together::{BesideRows, Together};

/// Conversion and encoding of a sample.
pub mod decode {
    pub use crate::preflight::decode::{BLOCK_BYTES, EncodeRows, Encoded, Ways};
}

/// Findings for the user.
pub mod findings {
    pub use crate::preflight::findings::{loaded_already, of_error, of_refusal, words};
}

/// The measurements of a flow.
pub mod flow_found {
    pub use crate::preflight::flow_found::{FlowFound, largest, like};
}

/// Seconds from measurements, by arithmetic alone.
pub mod model {
    pub use crate::preflight::model::{
        Beside, ObservedLoad, Schedule, SharedSeconds, WorkPiece, answer, schedule,
    };
}

/// The plan of a preflight, with the obstacles of the run as findings.
pub mod planning {
    pub use crate::preflight::planning::plan;
}

/// The prediction of a run.
pub mod predict {
    pub use crate::preflight::predict::{
        LeftToRead, PredictedPhases, costs, of_unknown_size, seen, shared, speeds, tell,
        tell_loaded,
    };
}

/// The parts of the files that are measured.
pub mod sample {
    pub use crate::preflight::sample::{Portion, portions};
}

/// Batches of rows of the sample.
pub mod sample_batches {
    pub use crate::preflight::sample_batches::{
        Making, Portions, SampleBatches, SampleWork, portion, row_maker, stamp, stream,
    };
}

/// The steps that a preflight reports.
pub mod steps {
    pub use crate::preflight::steps::{destination, together};
}
