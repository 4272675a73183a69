//! The contract of a server that clients call, for the load generator of the workloads.

pub use inrush_destination::Error;
pub use inrush_destination::clients::*;
