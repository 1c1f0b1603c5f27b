#!/bin/sh
# pkg-config.sh PKG-CONFIG PREFIX COMPILER SOURCE: builds and runs a program with the flags of qio.pc alone. Looks for what
# is installed for gdb and bpftrace, too.
set -eu
test -s "$2/share/qio/gdb/qio.py"
test -s "$2/share/qio/gdb/qio_gdb/printers.py"
test -s "$2/share/qio/tools/latency.bt"
PKG_CONFIG_PATH="$2/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PKG_CONFIG_PATH
eval "set -- '$3' '$4' $("$1" --cflags --libs qio)" # eval, because pkg-config quotes spaces for a shell
set -x
"$@" -std=c++20 -o pkg-config-program
./pkg-config-program
