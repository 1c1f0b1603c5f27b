#!/bin/sh
# archive.sh FILE: packs the sources, as they are now, into FILE (.tar.gz), in a folder qio-VERSION, as the archive of a
# release is: what git tracks, or, in a copy that is no clone, everything but build/.
set -eu
cd "$(dirname "$0")/../.."
version=$(sed -n 's/#define QIO_VERSION_.* //p' include/qio/version.hpp | paste -s -d .)
rm -f "$1"
git -c safe.directory='*' ls-files >"$1.list" 2>/dev/null || find . -path ./build -prune -o -type f -print >"$1.list"
tar --create --gzip --file "$1" --transform "s,^\(\./\)\?,qio-$version/," --files-from "$1.list"
