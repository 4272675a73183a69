//! The kinds of instructions that each step is compiled for, by their names.

use std::fmt::Debug;

/// Their names, the fastest first.
const NAMES: [&str; 4] = ["avx512", "avx2", "sse2", "portable"];

/// The name of a step's kernel. Each step has its own type of kernels, but all these types print the same names.
pub fn name(kernel: &impl Debug) -> &'static str {
    let printed = format!("{kernel:?}").to_lowercase();
    NAMES
        .into_iter()
        .find(|name| printed.contains(name))
        .expect("a kernel prints its instructions")
}

/// The fastest kernel of a step that needs at most the instructions of this name. Not every step has a kernel for each
/// name, and some machines lack parts of AVX-512.
pub fn at_most<Kernel: Debug>(kernels: Vec<Kernel>, limit: &str) -> Kernel {
    let rank = |name| NAMES.iter().position(|known| *known == name);
    kernels
        .into_iter()
        .find(|kernel| rank(name(kernel)) >= rank(limit))
        .expect("every step has a portable kernel")
}
