# SPDX-License-Identifier: BSL-1.0
"""qio in gdb: see printers.py. The file qio.py beside this folder loads it.

It reads memory, and calls no function of the program, so it works in core files, too. docs/in-your-program.md shows
what is printed.
"""
