//! The statements of a plan, as it shows them.

use std::borrow::Cow;
use std::fmt;

use super::{FlowPlan, Plan, UnitPlan, statistics, switch_statements};
use crate::quote::{identifier, qualified};
use crate::staging;

impl Plan {
    /// Sees every statement that changes something, in order. Values that only the load can tell stand in angle brackets.
    pub fn each_statement(&self, see: &mut dyn FnMut(&str)) {
        self.setup.iter().for_each(|statement| see(statement));
        for flow in &self.flows {
            for unit in &flow.units {
                let statements = unit_statements(self, flow, unit);
                statements.iter().for_each(|statement| see(statement));
            }
        }
        let switch = self.switch_statements();
        switch.iter().for_each(|statement| see(statement));
    }

    /// The statements of the switch.
    pub fn switch_statements(&self) -> Vec<String> {
        let mut statements = match self.is_one_transaction() {
            // It was begun before the rows.
            true => Vec::new(),
            false => vec!["BEGIN".to_owned()],
        };
        for flow in &self.flows {
            statements.extend(switch_statements::template(
                flow,
                &self.settings.staging_schema,
            ));
        }
        statements.push("COMMIT".to_owned());
        let analyze = |flow| statistics::of_target(self, flow);
        statements.extend(self.flows.iter().filter_map(analyze));
        statements
    }
}

/// The statements that make, fill and ready a unit.
///
/// A unit may be made of a hundred thousand files: what is the same for each of them is not copied.
pub(super) fn unit_statements<'a>(
    plan: &'a Plan,
    flow: &FlowPlan,
    unit: &'a UnitPlan,
) -> Vec<Cow<'a, str>> {
    const BEGIN: Cow<'static, str> = Cow::Borrowed("BEGIN");
    const COMMIT: Cow<'static, str> = Cow::Borrowed("COMMIT");
    let copy = || Cow::Borrowed(unit.copy.as_str());
    if flow.commits_at_switch() {
        let is_first = plan
            .flows
            .first()
            .is_some_and(|first| first.name == flow.name);
        let begin = is_first.then_some(BEGIN);
        let copies = unit.splits.iter().map(|_| copy());
        return begin.into_iter().chain(copies).collect();
    }
    let mut statements = vec![BEGIN];
    if flow.is_straight() {
        for split in 0..unit.splits.len() {
            if split > 0 {
                statements.push(BEGIN);
            }
            statements.extend([copy(), COMMIT]);
        }
        return statements;
    }
    statements.extend(unit.create.iter().map(Cow::from));
    if unit.shared {
        statements.push(COMMIT);
        for _ in &unit.splits {
            statements.extend([BEGIN, copy(), COMMIT]);
        }
        statements.push(BEGIN);
    } else {
        statements.extend(unit.splits.iter().map(|_| copy()));
    }
    statements.push(Cow::from(&unit.measure));
    statements.extend(unit.verify.iter().map(Cow::from));
    if let (Some(key), None) = (&flow.key, &unit.bounds) {
        let check = format!(
            "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({key_column} IS NOT NULL AND {key_column} >= \
             <smallest key> AND {key_column} <= <largest key>)",
            qualified(&plan.settings.staging_schema, &unit.staging_table),
            identifier(staging::BOUNDS_CHECK),
            key_column = identifier(&key.column),
        );
        statements.push(Cow::from(check));
    }
    statements.extend(unit.ready.iter().map(Cow::from));
    statements.extend(
        statistics::of_unit(plan, flow, unit)
            .into_iter()
            .map(Cow::from),
    );
    statements.push(COMMIT);
    statements
}

/// Statements for reading; a long list is shown by its ends.
pub(super) fn shortened(statements: &[impl fmt::Display]) -> Vec<String> {
    const SHOWN: usize = 24;
    if statements.len() <= SHOWN {
        return statements.iter().map(with_end).collect();
    }
    let half = SHOWN / 2;
    let mut lines: Vec<String> = statements[..half].iter().map(with_end).collect();
    lines.push(format!(
        "... {} more of the same forms (--json prints all)",
        statements.len() - SHOWN
    ));
    lines.extend(statements[statements.len() - half..].iter().map(with_end));
    lines
}

fn with_end(statement: &impl fmt::Display) -> String {
    format!("{statement};")
}
