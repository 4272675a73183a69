//! The engine of Inrush: flat files into partitioned databases, in parallel streams, every row
//! accounted for.
//!
//! One folder per step of the way of the data; the steps import the leaf types below and never
//! each other. `pipeline.rs` connects them. The library never prints and never reads the
//! environment: what it needs of either, its caller hands in.

pub mod chunk;
pub mod column;
pub mod convert;
pub mod location;
pub mod package;
pub mod reject;
pub mod source;
