//! The operating system's data about this process, its connections, its files and its disks. All unsafe calls are in
//! `system_calls.rs`.

pub mod address_space;
pub mod free_space;
pub mod lock_file;
pub mod process;
pub mod system_calls;
pub mod tcp;
