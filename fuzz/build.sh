#!/bin/sh
# Builds the fuzz targets with the stable compiler: coverage as cargo-fuzz asks for it, but no
# address sanitizer, which only nightly compilers have. Needs a C++ compiler for libFuzzer.
set -eu
cd "$(dirname "$0")"
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
-Ccodegen-units=1" \
exec cargo build --release --locked --target "$(rustc -vV | sed -n 's/^host: //p')" "$@"
