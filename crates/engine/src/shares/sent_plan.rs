//! A plan as it is sent to other hosts: a file in the run's folder, with a version and without secrets.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use inrush_destination::RunRecord;
use inrush_package::{Package, RunSettings};
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::units::load_unit::LoadUnit;
use inrush_plan::units::work_items::WorkItem;
use inrush_rows::ids::UnitKey;
use inrush_source::SourceSplit;
use serde::{Deserialize, Serialize};

use super::error::ShareError;
use crate::report::{RunFolder, write_whole};

/// The form of the file. A host refuses a plan of any other form.
pub const PLAN_VERSION: u64 = 1;

/// The plan, in a run's folder.
pub const PLAN_FILE: &str = "plan.json";

/// A plan as another host gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentPlan {
    /// The form of this file.
    pub plan_version: u64,
    /// The version of Inrush that wrote it.
    pub inrush_version: String,
    /// The run, as the ledger has it.
    pub run: RunRecord,
    /// The destination in words, without secrets.
    pub destination: String,
    /// [`package_digest`] of its package.
    pub package_digest: String,
    /// A digest of the targets as the run will fill them.
    pub targets_digest: String,
    /// The flows, in the order of the package.
    pub flows: Vec<SentFlow>,
    /// The work that is left, by share. Share 1 is the first.
    pub shares: Vec<Vec<WorkItem>>,
}

/// A flow of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentFlow {
    /// Its target.
    pub target: String,
    /// Its units, in the order of their numbers.
    pub units: Vec<SentUnit>,
}

/// A unit of the plan. The key is a digest of the target, of all settings that shape its rows, and of its splits with
/// their files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentUnit {
    /// Its key.
    pub key: UnitKey,
    /// Several streams of the process that holds the run fill it.
    pub is_shared: bool,
    /// Its splits, as the run cut them.
    pub splits: Vec<SourceSplit>,
}

/// The part that the file has in every form.
#[derive(Deserialize)]
struct Head {
    plan_version: u64,
    inrush_version: Option<String>,
}

impl SentPlan {
    /// The plan of a run after the first records of its splits are found.
    pub fn of(
        plan: &LoadPlan,
        run: &RunRecord,
        package: &Package,
        targets_digest: String,
        shares: Vec<Vec<WorkItem>>,
    ) -> SentPlan {
        let flows = plan.flows.iter().map(|flow| SentFlow {
            target: flow.reading.target.clone(),
            units: flow.units.iter().map(sent_unit).collect(),
        });
        SentPlan {
            plan_version: PLAN_VERSION,
            inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.clone(),
            destination: plan.destination.clone(),
            package_digest: package_digest(package),
            targets_digest,
            flows: flows.collect(),
            shares,
        }
    }

    /// Writes it into the run's folder, completely or not at all.
    pub fn write(&self, folder: &RunFolder) -> Result<(), ShareError> {
        let path = folder.path().join(PLAN_FILE);
        let text = serde_json::to_vec(self).expect("a plan has only keys that are text");
        write_whole(&path, &[&text]).map_err(|source| ShareError::File {
            doing: "write",
            path,
            source,
        })
    }

    /// Reads the plan of a run from the run's folder.
    pub fn read(path: &Path) -> Result<SentPlan, ShareError> {
        let text = fs::read(path).map_err(|source| ShareError::File {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        let form = |source| ShareError::Form {
            path: path.to_owned(),
            source,
        };
        // In another form, the other fields may differ.
        let head: Head = serde_json::from_slice(&text).map_err(form)?;
        if head.plan_version != PLAN_VERSION {
            return Err(ShareError::PlanVersion {
                path: path.to_owned(),
                form: head.plan_version,
                wrote: head.inrush_version,
            });
        }
        let plan: SentPlan = serde_json::from_slice(&text).map_err(form)?;
        if plan.inrush_version != env!("CARGO_PKG_VERSION") {
            return Err(ShareError::InrushVersion {
                path: path.to_owned(),
                wrote: plan.inrush_version,
            });
        }
        Ok(plan)
    }

    /// The work of a share, counted from 1.
    pub fn share(&self, share: usize) -> Result<&[WorkItem], ShareError> {
        let found = share.checked_sub(1).and_then(|at| self.shares.get(at));
        found.map(Vec::as_slice).ok_or(ShareError::NoShare {
            share,
            count: self.shares.len(),
        })
    }

    /// Refuses `plan`, this host's plan of the package, if it is not the same as the sent one.
    pub fn compare(&self, plan: &LoadPlan, package: &Package) -> Result<(), ShareError> {
        let differs = |what: &str| {
            Err(ShareError::Differs {
                what: what.to_owned(),
            })
        };
        if plan.run_key != self.run.run_key {
            return differs("the package has another name, or other targets");
        }
        if package_digest(package) != self.package_digest {
            return differs("the package, or the value of a parameter, is not the same");
        }
        if plan.targets_digest.as_ref() != Some(&self.targets_digest) {
            return differs("the columns of a target, or their types, are not the same");
        }
        if plan.flows.len() != self.flows.len() {
            return differs("it has another number of flows");
        }
        let mut flows = plan.flows.iter().zip(&self.flows);
        flows.try_for_each(|(flow, sent)| compare_flow(flow, sent))
    }

    /// Gives the splits of `plan`, which is [the same](SentPlan::compare), the first records of the sent ones: only the host that
    /// cut the splits has searched for them.
    pub fn settle(&self, plan: &mut LoadPlan) {
        for (flow, sent) in plan.flows.iter_mut().zip(&self.flows) {
            settle_flow(Arc::make_mut(flow), sent);
        }
    }
}

/// A digest of the settings of a package that decide what is loaded. A host has its own number of streams and its own
/// rate.
pub fn package_digest(package: &Package) -> String {
    let defaults = RunSettings::default();
    let mut package = package.clone();
    package.run.streams = defaults.streams;
    package.run.rate_bytes_max = defaults.rate_bytes_max;
    package.run.server_copy = defaults.server_copy;
    package.hash()
}

fn sent_unit(unit: &LoadUnit) -> SentUnit {
    SentUnit {
        key: unit.key.clone(),
        is_shared: unit.is_shared,
        splits: unit.splits.iter().map(|split| split.in_source()).collect(),
    }
}

fn compare_flow(flow: &LoadFlow, sent: &SentFlow) -> Result<(), ShareError> {
    let (target, units) = (&flow.reading.target, &flow.units);
    let differs = |what: String| Err(ShareError::Differs { what });
    if units.len() != sent.units.len() {
        return differs(format!(
            "{target} has {} units here, but {} there: the files, or their sizes, are not the same",
            units.len(),
            sent.units.len()
        ));
    }
    for (unit, sent) in units.iter().zip(&sent.units) {
        if unit.key != sent.key || unit.splits.len() != sent.splits.len() {
            let files = unit.splits.first();
            return differs(format!(
                "unit {} of {target} is not the same{}: its file, the size of the file, or the way to read it differs",
                unit.number,
                files.map_or(String::new(), |split| {
                    format!(" (here it reads {})", split.input.name().display())
                })
            ));
        }
    }
    Ok(())
}

fn settle_flow(flow: &mut LoadFlow, sent: &SentFlow) {
    for (unit, sent) in flow.units.iter_mut().zip(&sent.units) {
        for (split, sent) in unit.splits.iter_mut().zip(&sent.splits) {
            // The range of a split is part of the unit's key, so it is the same.
            if let Some(first) = sent.first_record {
                split.locate(first);
            }
            split.is_shared = sent.is_shared;
        }
        unit.set_shared(sent.is_shared);
    }
}
