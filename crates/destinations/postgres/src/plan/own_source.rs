//! Refuses a flow that reads the table into which it writes.

use std::collections::BTreeSet;

use inrush_pgclient::table_identity::{MAY_ASK_CLUSTER, Side, names};
use inrush_source::Source;

use super::flow_request::FlowRequest;
use super::flow_target::FlowTarget;
use crate::plan::failure::PlanFailure;

/// Refuses a source whose rows come from the target or from one of its partitions. It finds them for every spelling of
/// the source's address, and also through a view or a standby.
pub async fn refuse(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    source: &dyn Source,
) -> Result<(), PlanFailure> {
    let read = source.stored_tables();
    let Some(facts) = target.facts.as_ref().filter(|_| !read.is_empty()) else {
        return Ok(());
    };
    let doing = "comparing the target with the tables that are read";
    let session = request.session;
    let may_ask: bool = session.query(MAY_ASK_CLUSTER, &[], doing).await?[0].get(0);
    let sql = names(&[facts.oid], Side::Target, may_ask);
    let own = session.query(&sql, &[], doing).await?;
    let own: BTreeSet<String> = own.iter().map(|row| row.get(0)).collect();
    match read.iter().any(|name| own.contains(name)) {
        false => Ok(()),
        true => Err(target
            .mismatch(
                format!(
                    "its target {} is read by its own flow: {} takes its rows from the target itself or from one of its partitions",
                    target.sql,
                    source.describe()
                ),
                "name another target, and rename it when it is loaded",
            )
            .into()),
    }
}
