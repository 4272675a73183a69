//! The context that all parts of a run share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inrush_rows::cancel::Stop;
use inrush_rows::ids::UnitKey;

use super::kept_splits::KeptSplits;
use super::stored_ways::StoredWays;
use crate::engine::error::Error;
use crate::engine::event::{Event, Observer};
use crate::engine::fault::Fault;
use crate::engine::ledger::LedgerRun;
use crate::engine::load::{LoadRun, StraightLock};
use crate::engine::pace::Pace;
use crate::engine::pipeline::event_sink::EventSink;
use crate::engine::pipeline::fed_files::FedFiles;
use crate::engine::pipeline::metering::FlowCount;
use crate::engine::pipeline::reject_count::RejectCount;
use crate::engine::pipeline::sharing::Sharing;
use crate::engine::plan::UnitPlace;
use crate::engine::report::RunFolder;
use crate::ledger::{Fence, Ledger, UnitRow};
use crate::plan::{FlowPlan, Plan, UnitPlan};
use crate::{DatabaseAddress, Session};

/// How long what is stopped may take to be undone.
pub const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(20);

/// Text that a stream loads from a feed in one transaction: what a stop throws away.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// A run that is planned and entered into the ledger.
pub struct PreparedRun {
    /// The plan.
    pub plan: Plan,
    /// The run in the ledger.
    pub record: LedgerRun,
    /// Its fence.
    pub fence: Fence,
    /// The ledger.
    pub ledger: Ledger,
    /// The session of the ledger and the switch; it holds the run's lock.
    pub control: Session,
    /// The run's folder.
    pub folder: RunFolder,
    /// Units that were committed by an earlier attempt, by key.
    pub units_kept: BTreeMap<UnitKey, UnitRow>,
    /// Splits that were committed by an earlier attempt.
    pub splits_kept: KeptSplits,
    /// It goes on where an earlier attempt stopped.
    pub resumed: bool,
    /// Rejects of each flow so far.
    pub rejects: Vec<RejectCount>,
    /// Files that streams take from one feed.
    pub fed_files: FedFiles,
    /// How far each shared unit is.
    pub sharing: BTreeMap<UnitPlace, Sharing>,
    /// What all streams pass before they send.
    pub pace: Arc<Pace>,
    /// By which way the server stored the rows of each unit.
    pub stored_ways: StoredWays,
    /// What went into each flow so far.
    pub flow_counts: Vec<FlowCount>,
}

/// What the streams of a run share.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run.
    pub run: &'a PreparedRun,
    /// Where the data goes.
    pub address: &'a DatabaseAddress,
    /// Asks to stop.
    pub stop: &'a Stop,
    /// Is told what happens.
    pub observer: &'a dyn Observer,
    /// A wish to die, for tests.
    pub fault: Option<&'a Fault>,
}

impl PreparedRun {
    /// What the streams share.
    pub fn context<'a>(
        &'a self,
        address: &'a DatabaseAddress,
        options: &'a crate::engine::pipeline::RunOptions<'_>,
    ) -> Context<'a> {
        Context {
            run: self,
            address,
            stop: &options.stop,
            observer: options.observer,
            fault: options.fault.as_ref(),
        }
    }

    /// The unit and its flow.
    pub fn unit(&self, flow: usize, unit: usize) -> (&FlowPlan, &UnitPlan) {
        let flow = &self.plan.flows[flow];
        (flow, &flow.units[unit])
    }

    /// Where rejects are kept.
    pub fn rejects_folder(&self) -> PathBuf {
        self.folder.rejects()
    }
}

impl<'a> Context<'a> {
    /// Who is told what happens.
    pub fn event_sink(&self) -> EventSink<'a> {
        EventSink {
            folder: &self.run.folder,
            observer: self.observer,
        }
    }

    /// What the engine's loader is to know of the run.
    pub fn load_run(&self) -> LoadRun<'a, FlowPlan> {
        let run = self.run;
        let settings = &run.plan.settings;
        LoadRun {
            flows: &run.plan.flows,
            event_sink: self.event_sink(),
            stop: self.stop,
            fault: self.fault,
            fed_files: &run.fed_files,
            sharing: &run.sharing,
            rejects: &run.rejects,
            flow_counts: &run.flow_counts,
            chunk_bytes: settings.chunk_bytes as usize,
            batch_rows: settings.batch_rows as usize,
            fed_bytes: FED_TRANSACTION_BYTES,
            straight_lock: StraightLock::default(),
        }
    }

    /// Tells the log and the caller.
    pub fn notice(&self, event: Event) {
        self.event_sink().notice(&event);
    }

    /// Does something by the control session, no longer than until the run is asked to stop: what is
    /// under way then is undone.
    pub async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        tokio::select! {
            biased;
            done = work => done,
            _ = self.stop.wait() => {
                self.undo_in_time().await;
                Err(Error::Interrupted)
            }
        }
    }

    /// Ends what the control session does, if the server answers in time. If it does not, the end of the
    /// connection undoes it.
    pub async fn undo_in_time(&self) {
        let control = &self.run.control;
        let undone = async {
            // A statement may have minutes to go.
            control.cancel(self.address).await?;
            control
                .execute("ROLLBACK", "undoing what was stopped")
                .await
        };
        let _ = tokio::time::timeout(INTERRUPT_TIMEOUT, undone).await;
    }
}
