//! A run into PostgreSQL, as the contract sees it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use inrush_destination::{
    CancelRun, CommittedRecord, Error, LoadWatch, OpenRun, PublishStep, Published, ReloadedUnits,
    Result, RowsInSource, RunRecord, SessionSampler, StagedRows, StoredWay, StreamSetup, UnitAtEnd,
    UnitStream,
};
use inrush_rows::cancel::{Stop, StopReason};
use inrush_rows::ids::UnitKey;

use super::context::INTERRUPT_TIMEOUT;
use super::earlier_units::drop_units;
use super::prepared::PostgresRun;
use super::replication_lag::Replicas;
use super::sampler::ServerSampler;
use super::stream::SessionStream;
use super::switching::FailedEnd;
use super::was_switched::{SETTLE_TIMEOUT, was_switched};
use super::{analyze, committed, one_transaction, reload, shared_unit, switching};
use crate::load_error::LoadError;

/// The sums of a unit's columns are compared when the unit is committed. So there are no sums of a whole target
/// ([`staged_sums`](OpenRun::staged_sums)).
impl OpenRun for PostgresRun {
    fn record(&self) -> &RunRecord {
        &self.record
    }

    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        let asked: BTreeSet<&UnitKey> = keys.iter().collect();
        let (control, ledger, run_id) = (&self.control, &self.ledger, self.fence.run_id);
        let forgetting = async {
            let mut units = ledger.units(control, run_id).await?;
            units.retain(|unit| asked.contains(&unit.unit_key));
            let patience_ms = self.plan.settings.lock_timeout_ms;
            drop_units(control, ledger, run_id, &units, patience_ms).await?;
            let keys = units.into_iter().map(|unit| unit.unit_key);
            Ok::<_, LoadError>(keys.collect::<Vec<_>>())
        };
        let gone = self.answer(forgetting)?;
        let flows = &self.plan.flows;
        self.kept()
            .retain(|(flow, unit), _| !asked.contains(&flows[*flow].units[*unit].key));
        Ok(gone)
    }

    fn watch(&self) -> Result<Option<Box<dyn LoadWatch + '_>>> {
        let watching = Replicas::watch(self)?;
        Ok(watching.map(|replicas| Box::new(replicas) as _))
    }

    fn begin_streams(&self) -> Result<Option<Vec<usize>>> {
        self.answer(shared_unit::create_missing(self))?;
        match self.plan.is_one_transaction() {
            true => Ok(Some(self.answer(one_transaction::begin(self))?)),
            false => Ok(None),
        }
    }

    fn roll_back(&self) {
        one_transaction::roll_back(self);
        self.runtime.block_on(self.undo_in_time());
    }

    /// The only stream of a load in one transaction uses the control session. So does a stream that loads units again.
    fn open_stream<'r>(&'r self, setup: &StreamSetup<'r>) -> Result<Box<dyn UnitStream + 'r>> {
        let reload = self.switching().reload.clone();
        let stream = match reload {
            Some(reload) => SessionStream::of_reload(self, setup, reload),
            None if self.plan.is_one_transaction() => SessionStream::of_control(self, setup),
            None => SessionStream::connect(self, setup)?,
        };
        Ok(Box::new(stream))
    }

    fn sampler(&self) -> Option<Box<dyn SessionSampler>> {
        let version = self.plan.server.version_number;
        let sampler = ServerSampler::new(&self.runtime, &self.address, &self.record.name, version);
        Some(Box::new(sampler))
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        committed::splits(self, see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        committed::counted_units(self)
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        source: &mut dyn RowsInSource,
    ) -> Result<Published> {
        switching::publish(self, reached, source)
    }

    fn prepare_reload(&self, target: usize) -> Result<ReloadedUnits> {
        reload::prepare(self, target)
    }

    /// The server is asked only if the connection was lost.
    fn is_switched(&self) -> Result<bool> {
        let no_answer = |timeout: Duration| Error::Lost {
            doing: "asking whether the switch was committed".to_owned(),
            reason: format!("no answer in {} s", timeout.as_secs()),
            hint: "run the same command when the server answers".to_owned(),
        };
        match self.switching().end {
            FailedEnd::RolledBack => return Ok(false),
            FailedEnd::NoAnswer => return Err(no_answer(INTERRUPT_TIMEOUT)),
            FailedEnd::Unknown => {}
        }
        let timeout = match self.stop.asked() {
            Some(StopReason::Interrupted) => INTERRUPT_TIMEOUT,
            _ => SETTLE_TIMEOUT,
        };
        let asking = async { tokio::time::timeout(timeout, was_switched(self)).await };
        let answered = self.runtime.block_on(asking);
        Ok(answered.map_err(|_| no_answer(timeout))??)
    }

    fn published(&self) -> Published {
        let work = self.switching().work.clone();
        work.map(|work| switching::published(&work.targets))
            .unwrap_or_default()
    }

    fn analyze(&self, target: usize) -> Result<()> {
        Ok(self.answer(analyze::of_target(self, target))?)
    }

    fn units_at_end(&self) -> Result<Option<Vec<UnitAtEnd>>> {
        committed::units_at_end(self).map(Some)
    }

    fn stored_way(&self, target: usize, unit: usize) -> Option<StoredWay> {
        let copy = &self.plan.flows[target].server_copy;
        self.stored_ways.of_unit((target, unit), copy)
    }

    fn close(self: Box<Self>) {
        let PostgresRun {
            runtime,
            members,
            control,
            ..
        } = *self;
        runtime.block_on(async {
            members.close().await;
            control.close().await;
        });
    }

    /// Each call waits only until the run is asked to stop.
    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        Arc::new(AskToStop(self.stop.clone()))
    }
}

struct AskToStop(Stop);

impl CancelRun for AskToStop {
    /// If the run was already asked to stop, nothing changes.
    fn cancel(&self) {
        self.0.ask(StopReason::Failed);
    }
}
