//! Facts from the operating system about this process, its users, connections, files and disks; and threads that share
//! work, and threads that serve connections. All unsafe calls are in `system_calls.rs` and `users.rs`.

pub mod address_space;
pub mod free_space;
pub mod lock_file;
pub mod machine_cpu;
pub mod process;
pub mod runtime;
pub mod small_file;
pub mod system_calls;
pub mod tcp;
pub mod threads;
pub mod users;
