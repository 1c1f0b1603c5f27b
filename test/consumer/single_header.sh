#!/bin/sh
# single_header.sh PYTHON DIRECTORY COMPILER: writes the single header to DIRECTORY, and builds and runs a program of two
# sources with nothing but that, Boost's headers and liburing's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
set -x
rm -rf "$2"
"$1" "$here/../../cmake/single_header.py" "$2/qio"
"$3" -std=c++20 -I "$2" -o "$2/program" "$here/program/main.cpp" "$here/two_units/other.cpp" -pthread
cd "$2"
./program
