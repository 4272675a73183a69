//! Sends batches to the server, with a savepoint before each.

use std::ops::Range;

use arrow_array::RecordBatch;
use inrush_destination::{RefusedRow, Written};
use inrush_package::RunSettings;
use inrush_rows::cancel::Stop;
use inrush_verdict::Phase;

use super::cause::{RefusedTable, cause};
use super::definitions::Definitions;
use super::isolate::{Isolator, RowRefusal, RowSink};
use super::savepoint::Savepoint;
use crate::block_socket::BLOCK_BYTES;
use crate::copy::{BlockPool, CopyStop, CopyWriter};
use crate::load::encoder::Encoder;
use crate::load_error::LoadError;
use crate::plan::{FlowPlan, Publish, UnitPlan};
use crate::quote::qualified;
use crate::{PostgresError, RefusalFacts, Session};

/// A batch stops after this many refused rows, so that they are counted together with the refused rows of other
/// streams.
const REFUSED_AT_ONCE_MAX: u64 = 64;
/// Rows that are encoded at a time, so that blocks stay as small as those of other loads.
const ROWS_PER_SLICE: usize = 256;

/// The table that a batch is sent to.
pub struct CarefulCopy<'a> {
    session: Session,
    flow: &'a FlowPlan,
    unit: UnitPlan<'a>,
    /// The table that takes the rows, and its schema.
    table: (&'a str, &'a str),
    columns: Vec<String>,
    encoder: Encoder,
    pool: BlockPool,
    /// Statements that run each time after rows were rolled back.
    after_undo: Vec<String>,
    stop: Stop,
    doing: String,
    savepoint: Savepoint,
    isolator: Isolator,
    definitions: Definitions,
}

impl<'a> CarefulCopy<'a> {
    /// For a unit's staging table or, with direct writes, its target, in an open transaction. `after_undo` are the statements
    /// that the staging table needs each time after rows were rolled back; `doing` names source and table, for errors.
    pub fn new(
        session: Session,
        flow: &'a FlowPlan,
        unit: UnitPlan<'a>,
        settings: &'a RunSettings,
        after_undo: Vec<String>,
        stop: Stop,
        doing: String,
    ) -> Result<CarefulCopy<'a>, PostgresError> {
        let encoder = Encoder::new(flow);
        encoder.check(flow)?;
        let table = match flow.publish {
            Publish::Straight(_) => (flow.schema.as_str(), flow.table.as_str()),
            _ => (
                settings.staging_schema.as_str(),
                unit.load.staging_table.as_str(),
            ),
        };
        Ok(CarefulCopy {
            session,
            flow,
            unit,
            table,
            columns: flow
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            encoder,
            pool: BlockPool::default(),
            after_undo,
            stop,
            doing,
            savepoint: Savepoint::default(),
            isolator: Isolator::new(settings.batch_rows as usize),
            definitions: Definitions::default(),
        })
    }

    /// Loads the rows of a batch, except those that the server refuses. It stops after some refusals, so that they are
    /// counted soon.
    pub async fn send(
        &mut self,
        batch: &RecordBatch,
        refused_max: u64,
    ) -> Result<Written, LoadError> {
        let refused_max = refused_max.clamp(1, REFUSED_AT_ONCE_MAX) as usize;
        let mut isolator = self.isolator;
        let mut rows = BatchRows {
            copy: &mut *self,
            batch,
        };
        let (rows, end) = isolator
            .run(&mut rows, 0..batch.num_rows(), refused_max)
            .await?;
        self.isolator = isolator;
        let mut refused = Vec::with_capacity(rows.len());
        for row in rows {
            let cause = self.cause(&row.facts).await?;
            let column = cause.column;
            refused.push(RefusedRow {
                row: row.row,
                column: column.and_then(|name| self.columns.iter().position(|it| *it == name)),
                code: cause.code,
                reason: cause.reason,
            });
        }
        Ok(Written {
            refused,
            rest: Some(end).filter(|end| *end < batch.num_rows()),
            ..Written::default()
        })
    }

    /// Called when all batches are sent.
    pub async fn end(self) -> Result<(), PostgresError> {
        self.savepoint.release(&self.session, &self.doing).await
    }

    /// The cause of a refusal.
    async fn cause(
        &mut self,
        facts: &RefusalFacts,
    ) -> Result<super::cause::RefusalCause, PostgresError> {
        let definition = match &facts.constraint {
            Some(name) => {
                let table = qualified(self.table.0, self.table.1);
                let table = facts.table.as_deref().unwrap_or(&table);
                self.definitions.of(&self.session, table, name).await?
            }
            None => None,
        };
        Ok(cause(
            facts,
            &RefusedTable {
                table: self.table.1,
                target: &self.flow.table,
                columns: &self.columns,
                definition: definition.as_deref(),
            },
        ))
    }

    async fn copy_range(
        &mut self,
        batch: &RecordBatch,
        rows: Range<usize>,
    ) -> Result<u64, CopyStop> {
        // This COPY has no FREEZE, because FREEZE is not possible after a savepoint.
        let mut writer = CopyWriter::begin(
            &self.session,
            &self.unit.statements.copy_shared,
            self.pool.clone(),
            self.stop.clone(),
            self.doing.clone(),
        )
        .await
        .map_err(CopyStop::Failed)?;
        let mut block = self.pool.take();
        self.encoder.begin(&mut block);
        let mut at = rows.start;
        while at < rows.end {
            let end = rows.end.min(at + ROWS_PER_SLICE);
            let encoding = self.session.meter.enter(Phase::Encode);
            self.encoder
                .encode(&batch.slice(at, end - at), &mut block)
                .map_err(CopyStop::Failed)?;
            drop(encoding);
            at = end;
            if block.len() >= BLOCK_BYTES {
                block = writer.send(block).await?;
            }
        }
        self.encoder.end(&mut block);
        if !block.is_empty() {
            writer.send(block).await?;
        }
        writer.finish().await
    }
}

/// The rows of a batch, for the isolator.
struct BatchRows<'c, 'a, 'b> {
    copy: &'c mut CarefulCopy<'a>,
    batch: &'b RecordBatch,
}

impl RowSink for BatchRows<'_, '_, '_> {
    type Error = LoadError;

    async fn load(&mut self, rows: Range<usize>) -> Result<Result<(), RowRefusal>, LoadError> {
        let sent = rows.len() as u64;
        let CarefulCopy {
            savepoint,
            session,
            doing,
            ..
        } = &mut *self.copy;
        savepoint.set(session, doing).await?;
        let copied = self.copy.copy_range(self.batch, rows).await;
        let error = match copied {
            Ok(counted) if counted == sent => return Ok(Ok(())),
            Ok(counted) => {
                return Err(LoadError::Count {
                    what: format!("the COPY for {}", self.copy.doing),
                    counted,
                    sent,
                });
            }
            Err(CopyStop::Asked) => return Err(LoadError::Interrupted),
            Err(CopyStop::Failed(error)) => error,
        };
        let Some(facts) = error.row_refusal() else {
            return Err(error.into());
        };
        let facts = Box::new(facts.clone());
        let row = facts
            .copy_row(self.copy.table.1)
            .and_then(|row| usize::try_from(row).ok()?.checked_sub(1));
        let CarefulCopy {
            savepoint,
            session,
            after_undo,
            doing,
            ..
        } = &mut *self.copy;
        savepoint.undo(session, after_undo, doing).await?;
        Ok(Err(RowRefusal { row, facts }))
    }
}
