#!/usr/bin/env python3
"""pack_zip.py FILE DIRECTORY NAME: packs NAME, a folder in DIRECTORY, into FILE, with the time of SOURCE_DATE_EPOCH."""
import os
import pathlib
import sys
import time
import zipfile

file, directory, name = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # a zip file has no time before 1980
with zipfile.ZipFile(file, "w") as packed:
    for path in sorted(each for each in (directory / name).rglob("*") if each.is_file()):
        entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), when)
        entry.create_system = 3  # Unix, whatever packs it
        entry.external_attr = (0o755 if path.suffix == ".exe" else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        packed.writestr(entry, path.read_bytes(), compresslevel=9)
