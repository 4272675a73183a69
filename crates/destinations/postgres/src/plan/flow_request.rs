//! The inputs of a flow's plan.

use inrush_engine::native::plan::PlanOptions;
use inrush_engine::native::plan::earlier::PackageRuns;
use inrush_package::{Flow, Package};

use super::Commit;
use super::routing::KeyScans;
use crate::Session;
use crate::server_facts::ServerFacts;

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
    /// The earlier runs of the package.
    pub runs: &'a PackageRuns<'a>,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
}

impl FlowRequest<'_> {
    /// When rows that are written directly to the target are committed; `None` if there are staging tables.
    pub fn straight(&self) -> Option<Commit> {
        match (self.flow.atomic, self.package.run.staging) {
            (false, _) => Some(Commit::EachSplit),
            (true, false) => Some(Commit::AtSwitch),
            (true, true) => None,
        }
    }
}
