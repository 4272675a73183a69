//! The order in which targets get their rows: a table comes before the tables whose foreign keys refer to it. So the
//! referenced rows exist already if one package loads both tables.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::{PostgresError, Session};

/// The foreign keys between the targets of flows: pairs of the flow that refers and the flow that is referred to.
pub async fn references(
    session: &Session,
    plan: &Plan,
) -> Result<BTreeSet<(usize, usize)>, PostgresError> {
    if plan.flows.len() == 1 {
        return Ok(BTreeSet::new());
    }
    let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
    let sql = "WITH target AS MATERIALIZED ( \
           SELECT to_regclass(name)::oid AS oid, number - 1 AS flow \
           FROM unnest($1::text[]) WITH ORDINALITY named (name, number) \
         ) \
         SELECT DISTINCT child.flow, parent.flow FROM pg_constraint c \
         JOIN target child ON child.oid IN (c.conrelid, pg_partition_root(c.conrelid)) \
         JOIN target parent ON parent.oid IN (c.confrelid, pg_partition_root(c.confrelid)) \
         WHERE c.contype = 'f' AND child.flow <> parent.flow";
    let doing = "reading which targets refer to each other";
    let rows = session.query(sql, &[&targets], doing).await?;
    let pair = |row: &tokio_postgres::Row| {
        let flow = |column| row.get::<_, i64>(column) as usize;
        (flow(0), flow(1))
    };
    Ok(rows.iter().map(pair).collect())
}

/// The order of flows whose targets have these names. Flows without a foreign key between them are in the order of the
/// names; flows for which `is_late` is true come as late as their foreign keys allow. In a circle of foreign keys, one
/// table must be the first.
pub fn order(
    names: &[String],
    references: &BTreeSet<(usize, usize)>,
    is_late: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut left: Vec<usize> = (0..names.len()).collect();
    left.sort_by_key(|flow| (is_late(*flow), &names[*flow]));
    let mut found = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |flow: &usize| {
            let mut of_flow = references.iter().filter(|(referring, _)| referring == flow);
            of_flow.any(|(_, referred)| referred != flow && left.contains(referred))
        };
        let next = left.iter().position(|flow| !waits(flow)).unwrap_or(0);
        found.push(left.remove(next));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(names: &[&str], references: &[(usize, usize)], late: &[usize]) -> Vec<usize> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let references = references.iter().copied().collect();
        order(&names, &references, |flow| late.contains(&flow))
    }

    #[test]
    fn what_is_referred_to_comes_first() {
        assert_eq!(ordered(&["b", "a", "c"], &[], &[]), [1, 0, 2]);
        assert_eq!(ordered(&["b", "a", "c"], &[(1, 2)], &[]), [0, 2, 1]);
        let chain = [(0, 1), (1, 2), (0, 2)];
        assert_eq!(ordered(&["a", "b", "c"], &chain, &[]), [2, 1, 0]);
    }

    #[test]
    fn late_ones_wait_for_all_that_do_not_refer_to_them() {
        assert_eq!(ordered(&["a", "b", "c"], &[], &[0]), [1, 2, 0]);
        assert_eq!(ordered(&["a", "b", "c"], &[(1, 0)], &[0]), [2, 0, 1]);
    }

    #[test]
    fn circles_end_too() {
        assert_eq!(ordered(&["a", "b"], &[(0, 1), (1, 0)], &[]), [0, 1]);
        assert_eq!(ordered(&["a"], &[(0, 0)], &[]), [0]);
    }
}
