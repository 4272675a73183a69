#!/bin/sh
# Takes a folder of found inputs into corpus/: those that reach something new, the smallest first.
#   ./minimize.sh BINARY FOLDER
set -eu
target=$(basename "$1")
cd "$(dirname "$0")"
mkdir -p "corpus/$target"
exec "$1" -merge=1 -max_len=400 "corpus/$target" "$2"
