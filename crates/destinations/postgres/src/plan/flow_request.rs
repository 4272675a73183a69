//! The inputs of a flow's plan.

use inrush_engine::native::plan::PlanOptions;
use inrush_package::{Flow, Package};
use inrush_rows::ids::RunKey;

use super::Commit;
use super::routing::KeyScans;
use crate::Session;
use crate::server_facts::ServerFacts;
use crate::server_ledger::ServerLedger;

/// One flow, and the inputs for its plan.
pub struct FlowRequest<'a> {
    /// The session for reading the catalog.
    pub session: &'a Session,
    /// The facts of the server.
    pub server: &'a ServerFacts,
    /// The package.
    pub package: &'a Package,
    /// The options of the plan.
    pub options: &'a PlanOptions<'a>,
    /// The results of passes over the files.
    pub key_scans: &'a KeyScans,
    /// The flow.
    pub flow: &'a Flow,
    /// The run's key.
    pub run_key: &'a RunKey,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
}

impl FlowRequest<'_> {
    /// The ledger, asked over the session of the plan.
    pub fn ledger(&self) -> ServerLedger<'_> {
        let schema = &self.package.run.ledger_schema;
        ServerLedger::of_plan(self.session, schema, self.options.stop)
    }

    /// When rows that are written directly to the target are committed; `None` if there are staging tables.
    pub fn straight(&self) -> Option<Commit> {
        match (self.flow.atomic, self.package.run.staging) {
            (false, _) => Some(Commit::EachSplit),
            (true, false) => Some(Commit::AtSwitch),
            (true, true) => None,
        }
    }
}
