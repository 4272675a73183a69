//! Names of tables that are the same however a server is reached: by another address, a socket, a pooler or a standby.
//!
//! A source and a destination ask for the names of their tables, each in its own session. If they have a name in
//! common, the flow would read from the table into which it writes.
//!
//! The name of a table contains the cluster's identifier and the time at which its postmaster was started, because
//! another server on a copy of the data folder was started at another time. A standby has another start time than its
//! primary. So the names of its tables contain the timeline instead of the start time, and each target on the primary
//! has such a name, too. A copy that was promoted is on another timeline.

/// The side of a load that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its tables are read.
    Source,
    /// Its tables are written.
    Target,
}

/// Asks whether the role may ask for the cluster; the answer is a parameter of [`names`].
pub const MAY_ASK_CLUSTER: &str = "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') \
     AND pg_catalog.has_function_privilege('pg_catalog.pg_control_checkpoint()', 'EXECUTE')";

/// Asks for the names of tables and of all their partitions and descendants, one in each row.
pub fn names(oids: &[u32], side: Side, may_ask_cluster: bool) -> String {
    let (cluster, timeline) = match may_ask_cluster {
        true => (
            "(SELECT system_identifier FROM pg_catalog.pg_control_system())",
            "(SELECT timeline_id FROM pg_catalog.pg_control_checkpoint())",
        ),
        false => ("'?'", "NULL"),
    };
    let has_name_of_standby = match side {
        Side::Source => "pg_catalog.pg_is_in_recovery()",
        Side::Target => "true",
    };
    let oids: Vec<String> = oids.iter().map(u32::to_string).collect();
    format!(
        "WITH RECURSIVE tree (oid) AS ( \
           SELECT pg_catalog.unnest('{{{oids}}}'::oid[]) \
           UNION SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.oid \
         ), server (name) AS ( \
           SELECT 'started ' || extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text \
           WHERE NOT pg_catalog.pg_is_in_recovery() \
           UNION ALL SELECT 'timeline ' || {timeline}::text WHERE {has_name_of_standby} \
         ) \
         SELECT 'postgresql/' || {cluster}::text || '/' || server.name || '/' || d.oid::text || '/' || tree.oid::text \
         FROM tree, server, pg_catalog.pg_database AS d \
         WHERE server.name IS NOT NULL AND d.datname = pg_catalog.current_database()",
        oids = oids.join(",")
    )
}
