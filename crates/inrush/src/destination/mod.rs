//! Where data goes. One folder per kind of database; today there is one.

pub mod postgres;
