//! The endpoints and NUMA nodes to which streams are connected, for the report of a load with several endpoints.
//!
//! A port may belong to one node, or to several that are assigned in turn
//! (https://learn.microsoft.com/sql/database-engine/configure-windows/map-tcp-ip-ports-to-numa-nodes-sql-server).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use inrush_destination::Error;
use inrush_rows::plural::counted;

use crate::connection::SqlSession;

/// The endpoint and the node of each session.
#[derive(Debug, Default)]
pub struct Nodes(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    /// The number of sessions by their endpoints and nodes.
    sessions: BTreeMap<(String, Option<String>), u64>,
    /// The server's message, if it did not report a node.
    unknown: Option<String>,
}

impl Nodes {
    /// Notes the endpoint and the node of a session. The load goes on if the server does not report the node.
    pub fn see(&self, session: &mut SqlSession) {
        let endpoint = session.facts().endpoint.to_string();
        let number = session.number_on_server().unwrap_or(0);
        let question = format!(
            "SELECT node_affinity FROM sys.dm_exec_connections WHERE session_id = {number}"
        );
        let answer = session.rows("cannot read the node of a session", &question);
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let node = match answer {
            Ok(rows) => rows.into_iter().flatten().flatten().next(),
            Err(Error::Refused { message, .. }) => {
                found.unknown = Some(message);
                None
            }
            // For example a lost connection: the first unit reports it.
            Err(_) => None,
        };
        *found.sessions.entry((endpoint, node)).or_default() += 1;
    }

    /// The note for the report; `None` if no session was seen.
    pub fn note(&self) -> Option<String> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places = found.sessions.iter().map(|((endpoint, node), sessions)| {
            let node = node.as_ref().map(|node| format!(" (node {node})"));
            format!(
                "{} to {endpoint}{}",
                counted(*sessions, "stream"),
                node.unwrap_or_default()
            )
        });
        let places: Vec<String> = places.collect();
        let unknown = found.unknown.as_ref();
        let unknown = unknown.map(|why| format!("; the nodes of the server are not known: {why}"));
        (!places.is_empty()).then(|| {
            format!(
                "the streams connected to these endpoints: {}{}",
                places.join(", "),
                unknown.unwrap_or_default()
            )
        })
    }
}
