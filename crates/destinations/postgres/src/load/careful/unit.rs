//! Prepares the staging table of a unit for a careful load.

use std::sync::Arc;

use inrush_files::Split;

use super::additions::Additions;
use crate::engine::error::Error;
use crate::load::one_transaction;
use crate::load::piece::Piece;
use crate::plan::UnitPlan;
use crate::quote::qualified;

impl Piece<'_> {
    /// Inside the transaction: an empty staging table with all that may refuse a row. What was
    /// loaded of the unit before is forgotten; if this transaction is not committed, it is as if
    /// nothing had been. A target that rows go straight into is as it is.
    pub(in crate::load) async fn begin_carefully(
        &self,
        additions: &Additions,
        doing: &str,
    ) -> Result<(), Error> {
        let run = self.context.run;
        if self.is_whole() {
            let schema = &run.plan.settings.staging_schema;
            let table = qualified(schema, &self.unit.staging_table);
            // It may have its indexes already, and the CHECK of what it held.
            let drop = format!("DROP TABLE IF EXISTS {table}");
            self.session.execute(&drop, doing).await?;
            run.ledger
                .forget_splits(self.session, &run.fence, &self.unit.key)
                .await?;
            let create = self.unit.create.iter().chain(&self.unit.ready);
            for statement in create.chain(&additions.before_rows) {
                self.session.execute(statement, doing).await?;
            }
        }
        // What is checked at COMMIT would refuse the unit and not the row.
        if self.flow.commits_at_switch() {
            let (context, flow) = (self.context, self.flow_index);
            return Ok(one_transaction::check_at_once(context, self.session, flow).await?);
        }
        self.session
            .execute("SET CONSTRAINTS ALL IMMEDIATE", doing)
            .await?;
        Ok(())
    }
}

impl UnitPlan {
    /// The splits of a unit that one stream loads in the order of its files. What was cut into
    /// ranges for several streams, or was to be fed to them, is whole again.
    pub(in crate::load) fn whole_splits(&self) -> Vec<Split> {
        if !self.shared {
            return self.splits.clone();
        }
        let mut found: Vec<Split> = Vec::new();
        let mut at = 0;
        while at < self.splits.len() {
            let file = &self.splits[at].file;
            let own = self.splits[at..]
                .iter()
                .take_while(|split| Arc::ptr_eq(&split.file, file));
            let own: Vec<&Split> = own.collect();
            let is_whole = own[0].byte_range.start == 0
                && own[own.len() - 1].byte_range.end == file.size_bytes
                && own
                    .windows(2)
                    .all(|pair| pair[0].byte_range.end == pair[1].byte_range.start);
            at += own.len();
            if is_whole {
                found.push(Split::whole(Arc::clone(file)));
            } else {
                found.extend(own.into_iter().cloned());
            }
        }
        found
    }
}
