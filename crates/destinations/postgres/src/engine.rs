//! The engine's internals that PostgreSQL's driver still uses. All other files of this crate import them from here, so
//! this list shows how far the driver is from the contract of a destination. It may only become shorter.

pub(crate) use inrush_engine::fault;

pub(crate) mod driver_trait {
    pub(crate) use inrush_engine::driver_trait::{Checked, Driver, DriverPlan, PastRuns};
}

pub(crate) mod driver_error {
    pub(crate) use inrush_engine::driver_error::{DriverError, Retry};
}

pub(crate) mod error {
    pub(crate) use inrush_engine::error::Error;
}

pub(crate) mod event {
    pub(crate) use inrush_engine::event::{Event, Observer};
}

pub(crate) mod gauge {
    pub(crate) use inrush_engine::gauge::Gauge;
}

pub(crate) mod ledger {
    pub(crate) use inrush_engine::ledger::{
        Account, LedgerRun, LedgerRunState, SplitRecord, SwitchedFile, TouchedFile,
    };
}

pub(crate) mod load {
    pub(crate) use inrush_engine::load::{
        LoadRun, Loader, Method, Part, Transactions, UnitTransaction,
    };
}

pub(crate) mod meter {
    pub(crate) use inrush_engine::meter::Meter;
}

pub(crate) mod pipeline {
    pub(crate) use inrush_engine::pipeline::{
        Failure, RunOptions, Success, expectations, file_checks, plan_options, runtime,
        stream_threads,
    };

    pub(crate) mod coverage {
        pub(crate) use inrush_engine::pipeline::coverage::check_file;
    }

    pub(crate) mod gathered {
        pub(crate) use inrush_engine::pipeline::gathered::Gathered;
    }

    pub(crate) mod kept_rejects {
        pub(crate) use inrush_engine::pipeline::kept_rejects::KeptRejects;
    }

    pub(crate) mod metering {
        pub(crate) use inrush_engine::pipeline::metering::{Backends, Looking};
    }

    pub(crate) mod naming {
        pub(crate) use inrush_engine::pipeline::naming::{holder, new_run_name};
    }

    pub(crate) mod reject_files {
        pub(crate) use inrush_engine::pipeline::reject_files::of_key;
    }

    pub(crate) mod results {
        pub(crate) use inrush_engine::pipeline::results::StreamResult;
    }

    pub(crate) mod row_loop {
        pub(crate) use inrush_engine::pipeline::row_loop::{RowFault, RowLoop, RowWriter, Written};
    }

    pub(crate) mod work {
        pub(crate) use inrush_engine::pipeline::work::{FileWriter, Work};
    }

    pub(crate) mod work_items {
        pub(crate) use inrush_engine::pipeline::work_items::{Committed, WorkItem, left};
    }
}

pub(crate) mod plan {
    pub(crate) use inrush_engine::plan::{
        ContentChecks, KeyStart, MemoryBound, PlanError, PlanOptions, PlanRefusal, PlannedFlow,
        PlannedUnit, Reading, SplitPlace, UnitPlace, abilities, changed, expect, identity,
    };

    pub(crate) mod columns {
        pub(crate) use inrush_engine::plan::columns::{KnownColumns, Match, TargetColumns, column};
    }

    pub(crate) mod earlier {
        pub(crate) use inrush_engine::plan::earlier::{EarlierRun, PackageRuns, find};
    }

    pub(crate) mod error {
        pub(crate) use inrush_engine::plan::error::PlanError;
    }

    pub(crate) mod flow_inputs {
        pub(crate) use inrush_engine::plan::flow_inputs::{FlowAsked, FlowInputs};
    }

    pub(crate) mod loaded {
        pub(crate) use inrush_engine::plan::loaded::{LoadedFiles, WantedFiles};
    }

    pub(crate) mod long_units {
        pub(crate) use inrush_engine::plan::long_units::{share_among, work_bytes};
    }

    pub(crate) mod memory {
        pub(crate) use inrush_engine::plan::memory::{LoadMemory, MemoryBound};
    }

    pub(crate) mod options {
        pub(crate) use inrush_engine::plan::options::PlanOptions;
    }

    pub(crate) mod pieces {
        pub(crate) use inrush_engine::plan::pieces::{pieces, wanted_bytes};
    }

    pub(crate) mod since {
        pub(crate) use inrush_engine::plan::since::{
            Marks, NothingNew, SinceMark, run_if_all, sentences_if_all,
        };
    }

    pub(crate) mod plan_text {
        pub(crate) use inrush_engine::plan::plan_text::{
            TARGET_LOADED, dialect_words, fmt_memory, fmt_notes, fmt_order, fmt_package,
            fmt_reading, kept_words, reject_limit, size_words, split_words,
        };
    }

    pub(crate) use inrush_engine::plan::source_paces::source_paces;

    pub(crate) mod user_sql {
        pub(crate) use inrush_engine::plan::user_sql::statements;
    }
}

pub(crate) mod preflight {
    pub(crate) use inrush_engine::preflight::{
        MeasuringTime, PreflightOptions, PreflightReport, STEP_TIME, cores, decode, findings,
        flow_found, model, planning, predict, record_input_error, sample, sample_batches, steps,
    };

    pub(crate) mod at_once {
        pub(crate) use inrush_engine::preflight::at_once::{on_a_thread_each, own_cpu_s};
    }

    pub(crate) mod client {
        pub(crate) use inrush_engine::preflight::client::Client;
    }

    pub(crate) mod measure {
        pub(crate) use inrush_engine::preflight::measure::{MeasuredDestination, measure};
    }

    pub(crate) mod read {
        pub(crate) use inrush_engine::preflight::read::ReadFound;
    }

    pub(crate) mod result {
        pub(crate) use inrush_engine::preflight::result::{
            Finding, PreflightReport, PreflightStep, StepFound, Weight,
        };
    }

    pub(crate) mod throughput {
        pub(crate) use inrush_engine::preflight::throughput::Throughput;
    }

    pub(crate) mod together {
        pub(crate) use inrush_engine::preflight::together::{BesideRows, Together};
    }
}

pub(crate) mod report {
    pub(crate) use inrush_engine::report::{
        PartitionReport, RejectFile, RunFolder, ServerCopyReport, ServerReport, reject_file_name,
    };
}

pub(crate) mod run {
    pub(crate) use inrush_engine::run::{announcements, run};

    pub(crate) mod account {
        pub(crate) use inrush_engine::run::account::CommittedUnits;
    }

    pub(crate) mod context {
        pub(crate) use inrush_engine::run::context::RunContext;
    }

    pub(crate) mod gathering {
        pub(crate) use inrush_engine::run::gathering::Gathering;
    }

    pub(crate) mod plan {
        pub(crate) use inrush_engine::run::plan::{PlanFacts, RunPlan};
    }

    pub(crate) mod prepared {
        pub(crate) use inrush_engine::run::prepared::{DriverRun, KeptRecord, PreparedRun};
    }

    pub(crate) mod steps {
        pub(crate) use inrush_engine::run::steps::{
            AlreadyLoaded, LoadSteps, LostRejects, Preparation, PublishEnd, SwitchedTarget,
        };
    }

    pub(crate) mod unit_reports {
        pub(crate) use inrush_engine::run::unit_reports::UnitEnd;
    }
}

pub(crate) mod undo {
    pub(crate) use inrush_engine::undo::{UndoOptions, Undone, UndoneTarget};
}

pub(crate) mod upkeep {
    pub(crate) use inrush_engine::upkeep::{
        LedgerOptions, MarkOfTarget, RemovedRuns, StoppedRun, Which,
    };
}

pub(crate) mod verify {
    pub(crate) use inrush_engine::verify::{
        BatchSums, ColumnForm, ColumnSums, Difference, DriverSums, ExactSum, SumForm, Tally,
        VerifyError, VerifyPlan,
    };
}
