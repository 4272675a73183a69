//! The plan in words: what `inrush check` prints.

use std::fmt;

use inrush_destination::{StatementEnd, Step};
use inrush_pgclient::SETTINGS;
use inrush_plan::plan_text::{fmt_earlier, fmt_memory, fmt_notes, fmt_order, fmt_package};
use inrush_plan::script::{self, ScriptPart};
use inrush_rows::quantity::bytes;
use inrush_rows::told;

use super::print_flow::fmt_flow;
use super::statements::shortened;
use super::{DiskFacts, FlowPlan, Plan, ServerWork, UnitPlan, unit_steps};
use crate::abilities::abilities;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_run(f, self)?;
        fmt_memory(f, &self.memory, "")?;
        told!(
            f,
            "Locks        about {} in the switch; the server has room for {}",
            self.locks_needed,
            self.server.locks_max
        )?;
        if let Some(disk) = &self.disk {
            fmt_disk(f, self, disk)?;
        }
        fmt_earlier(f, &self.facts, &self.earlier.map(ServerWork::count))?;
        fmt_privileges(f, self)?;
        told!(f, "\nEach session, when it is opened")?;
        told!(f, "  {SETTINGS};")?;
        told!(f, "\nBegin of the run")?;
        for step in self.begin_steps() {
            told!(f, "  {step}")?;
        }
        for flow in &self.flows {
            fmt_flow(f, self, flow)?;
        }
        told!(f, "\nSwitch, all of it in one transaction")?;
        for step in shortened(self.switch_steps()) {
            told!(f, "  {step}")?;
        }
        fmt_notes(f, &self.facts)
    }
}

/// Writes the steps of a plan as a script.
pub fn fmt_script(plan: &Plan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_loaded = plan.earlier.is_loaded();
    let is_nothing_left = is_loaded || !plan.facts.nothing_new.is_empty();
    let parts = (!is_nothing_left).then(|| {
        let settings = [Step::statement(SETTINGS)];
        let before = [
            ScriptPart::new("Each session, when it is opened", settings),
            ScriptPart::new("Begin of the run", plan.begin_steps()),
        ];
        let flows = plan.flows.iter();
        let units = flows.flat_map(|flow| flow.unit_plans().map(move |unit| (flow, unit)));
        let units = units.map(|(flow, unit)| unit_part(plan, flow, unit));
        let switch = ScriptPart::new("Switch", plan.switch_steps());
        before.into_iter().chain(units).chain([switch])
    });
    script::fmt_script(f, &plan.facts, true, StatementEnd::Semicolon, parts)
}

fn unit_part(plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'_>) -> ScriptPart {
    let work = plan.earlier.work();
    let is_kept = work.is_some_and(|work| work.kept.contains(&unit.key));
    let mut steps = Vec::new();
    for transaction in unit_steps::transactions(plan, flow, unit) {
        transaction.each_step(plan, flow, unit, &mut |step: Step| {
            steps.push(match is_kept {
                true => step.only_if("the stopped run has not done it"),
                false => step,
            });
        });
    }
    let (name, target, number) = (&flow.name, flow.target(), unit.number);
    ScriptPart::new(format!("Flow {name} -> {target}, unit {number}"), steps)
}

/// The package, its destination, and the number of streams.
fn fmt_run(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    fmt_package(f, &plan.facts, &abilities())?;
    told!(
        f,
        "Server       PostgreSQL {}, wal_level = {}",
        plan.server.version,
        plan.server.wal_level
    )?;
    told!(
        f,
        "Streams      {}, each with one connection; one more connection for the ledger and \
         the switch",
        plan.streams
    )?;
    fmt_order(f, plan.settings.order)
}

fn fmt_disk(f: &mut fmt::Formatter<'_>, plan: &Plan, disk: &DiskFacts) -> fmt::Result {
    let has_pipe = plan.flows.iter().any(|flow| flow.has_pipes());
    let text = match (has_pipe, disk.text_bytes) {
        (false, known) => format!("{} of text to store", bytes(known)),
        (true, 0) => "text of unknown size to store".to_owned(),
        (true, known) => format!("{} of text to store, and the data of pipes", bytes(known)),
    };
    told!(
        f,
        "Disk         {text}; {} free at {}",
        bytes(disk.free_bytes),
        disk.folder.display()
    )
}

fn fmt_privileges(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    told!(f, "\nPrivileges of {}", plan.server.role)?;
    for privilege in &plan.privileges {
        told!(
            f,
            "  {}  {}, for {}",
            if privilege.held { "held   " } else { "MISSING" },
            privilege.what,
            privilege.needed_for
        )?;
    }
    Ok(())
}
