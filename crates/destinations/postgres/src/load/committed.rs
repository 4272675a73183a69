//! What a run has committed: the rows that the ledger has of its units and splits, and the server's counts. They are read over
//! the control session, because only this session sees what a load in one transaction has written.

use std::time::Duration;

use inrush_destination::{CommittedRecord, CountedUnit, Error, Result, StagedRows, UnitAtEnd};

use super::count_again;
use super::prepared::PostgresRun;
use super::switching::SwitchWork;
use crate::ledger::{LedgerError, UnitRow};
use crate::load_error::LoadError;

/// The longest wait for the ledger at the end.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(5);

/// Passes the splits of the run to `see`.
pub fn splits(run: &PostgresRun, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
    let see = |split| see(CommittedRecord::Split(Box::new(split)));
    let (control, run_id) = (&run.control, run.fence.run_id);
    Ok(run.answer(run.ledger.each_split(control, run_id, None, see))?)
}

/// The server's counts of the units. Units whose rows somebody could have changed are counted again. The work of the switch
/// follows from the counts.
pub fn counted_units(run: &PostgresRun) -> Result<StagedRows> {
    let counting = async {
        let units = run.ledger.units(&run.control, run.fence.run_id).await?;
        count_again::units(run, &units).await?;
        let work = SwitchWork::of(run, &units).await;
        Ok::<_, LoadError>((units, work))
    };
    let (units, work) = run.answer(counting)?;
    run.switching().work = Some(work?);
    let units = units.into_iter();
    let units = units.map(|row| (row.unit_key.clone(), counted_unit(&row)));
    Ok(StagedRows::OfUnits(units.collect()))
}

/// The units as the ledger has them at the end: the switch may have rejected rows, and a failed run has units that are not
/// finished. A stopped run does not wait for a server that does not answer.
pub fn units_at_end(run: &PostgresRun) -> Result<Vec<UnitAtEnd>> {
    let (control, ledger, run_id) = (&run.control, &run.ledger, run.fence.run_id);
    let reading = async {
        let units = ledger.units(control, run_id).await?;
        let accounts = ledger.accounts(control, run_id).await?;
        let units = units.into_iter().map(|row| UnitAtEnd {
            account: accounts.of_unit(&row.unit_key),
            counted: counted_unit(&row),
            key: row.unit_key,
        });
        Ok::<_, LedgerError>(units.collect())
    };
    let read = async { tokio::time::timeout(LEDGER_TIMEOUT, reading).await };
    let read = run.runtime.block_on(read).map_err(|_| Error::Lost {
        doing: "reading the ledger".to_owned(),
        reason: format!("no answer in {} s", LEDGER_TIMEOUT.as_secs()),
        hint: "run the same command when the server answers".to_owned(),
    })?;
    Ok(read?)
}

fn counted_unit(row: &UnitRow) -> CountedUnit {
    CountedUnit {
        is_finished: row.finished,
        is_careful: row.careful,
        rows: row.rows_counted.map(|count| count as u64),
    }
}
