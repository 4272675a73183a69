//! What the operating system knows of this process, its connections and its disks. No unsafe call stands outside of
//! `system_calls.rs`.

pub mod address_space;
pub mod free_space;
pub mod lock_file;
pub mod process;
pub mod system_calls;
pub mod tcp;
