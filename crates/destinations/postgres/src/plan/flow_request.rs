//! The inputs of a flow's plan.

use inrush_package::{Flow, Package};
use inrush_plan::PlanOptions;
use inrush_plan::earlier::package_runs::PackageRuns;
use inrush_plan::reading::flow_reading::ReadingRequest;

use super::Commit;
use super::flow_target::FlowTarget;
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

impl<'a> FlowRequest<'a> {
    /// The flow as it is read into its target.
    pub fn reading<'r>(&'r self, target: &'r FlowTarget<'_>) -> ReadingRequest<'r> {
        ReadingRequest {
            package: self.package,
            flow: self.flow,
            name: &target.flow_name,
            target: &target.sql,
            options: self.options,
            runs: self.runs,
        }
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
