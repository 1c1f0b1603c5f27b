# SPDX-License-Identifier: BSL-1.0
"""Loads the pretty-printers of qio, and the command `qio in-flight`, into gdb:

    (gdb) source /usr/share/qio/gdb/qio.py

The names of a file that is sourced mix with those of all other scripts. So the rest is a package, qio_gdb, beside this
file.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
for _name in [name for name in sys.modules if name.split(".")[0] == "qio_gdb"]:
    del sys.modules[_name]  # if it is sourced again
import qio_gdb.printers  # noqa: E402
sys.path.pop(0)
