#!/bin/sh
# Adds inputs that were found to the corpus: those that reach something new, the smallest first.
#   ./minimize.sh BINARY FOLDER
# It begins with the archive, so FOLDER may also be the unpacked corpus that a fuzzer has added to.
set -eu
binary=$(realpath "$1")
found=$(realpath "$2")
target=$(basename "$binary")
cd "$(dirname "$0")"
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
tar --extract --gzip --file "corpus/$target.tar.gz" --directory "$kept"
"$binary" -merge=1 -max_len=400 "$kept" "$found"
rm -rf "corpus/$target"
mkdir "corpus/$target"
find "$kept" -type f -exec mv -t "corpus/$target" {} +
./corpus.sh pack "$target"
