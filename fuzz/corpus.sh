#!/bin/sh
# The corpus of each target is kept as one archive, corpus/TARGET.tar.gz. A fuzzer reads a folder.
#   ./corpus.sh unpack [TARGET...]   archive -> folder corpus/TARGET, which git ignores
#   ./corpus.sh pack [TARGET...]     folder -> archive; the same inputs make the same bytes
# Without a target it does all of them.
set -eu
cd "$(dirname "$0")/corpus"
verb=${1:-}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- decode fastcopy scanner split
for target in "$@"; do
    case $verb in
    unpack)
        mkdir -p "$target"
        tar --extract --gzip --file "$target.tar.gz" --directory "$target"
        ;;
    pack)
        # No owner, time or mode of this machine; inputs in the order of their names.
        (cd "$target" && LC_ALL=C ls) |
            tar --create --use-compress-program='gzip --no-name --best' --file "$target.tar.gz.new" \
                --format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 --mtime=@0 \
                --directory "$target" --verbatim-files-from --files-from=-
        mv "$target.tar.gz.new" "$target.tar.gz"
        ;;
    *)
        echo "usage: $0 unpack|pack [TARGET...]" >&2
        exit 2
        ;;
    esac
done
