//! The `inrush` command.

use std::process::ExitCode;

use inrush_cli::Surroundings;
use inrush_cli::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    let status = inrush_cli::main(arguments, Surroundings::default());
    ExitCode::from(status.code())
}
