#!/usr/bin/env python3
"""sbom.py VERSION DIRECTORY: prints what the files of a release are made of, as SPDX 2.3 in JSON.

Each file in DIRECTORY has its hashes. The archives with qd1 are linked with the libraries of LIBRARIES; the versions are
those of the headers that the compiler finds here. The time is that of SOURCE_DATE_EPOCH.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

# Library: license, and macros that make its version; (major, minor, patch) as one number if there is one macro.
LIBRARIES = {
    "boost": ("BSL-1.0", "#include <boost/version.hpp>", ["BOOST_VERSION"]),
    "fmt": ("MIT", "#include <fmt/core.h>", ["FMT_VERSION"]),
    "CLI11": ("BSD-3-Clause", "#include <CLI/Version.hpp>", ["CLI11_VERSION_MAJOR", "CLI11_VERSION_MINOR", "CLI11_VERSION_PATCH"]),
    "nlohmann-json": ("MIT", "#include <nlohmann/json.hpp>", ["NLOHMANN_JSON_VERSION_MAJOR", "NLOHMANN_JSON_VERSION_MINOR",
                                                              "NLOHMANN_JSON_VERSION_PATCH"]),
    "liburing": ("MIT", "#include <liburing.h>", ["IO_URING_VERSION_MAJOR", "IO_URING_VERSION_MINOR"]),
    "libstdc++": ("GPL-3.0-or-later WITH GCC-exception-3.1", "", ["__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"]),
    "glibc": ("LGPL-2.1-or-later", "#include <features.h>", ["__GLIBC__", "__GLIBC_MINOR__"]),
    "mingw-w64": ("ZPL-2.1", "#include <_mingw_mac.h>", ["__MINGW64_VERSION_MAJOR", "__MINGW64_VERSION_MINOR"]),
}
HEADERS = ["boost", "liburing"]  # what the headers of the library need
OF_LINUX = ["boost", "fmt", "CLI11", "nlohmann-json", "liburing", "libstdc++", "glibc"]
OF_WINDOWS = ["boost", "fmt", "CLI11", "nlohmann-json", "libstdc++", "mingw-w64"]
# How a program of each kind is compiled; the headers of libraries are this system's.
COMPILERS = {"linux-x86_64": os.environ.get("CXX", "c++"), "linux-aarch64": "aarch64-linux-gnu-g++",
             "windows-x86_64": "x86_64-w64-mingw32-g++"}


def version_of(library: str, compiler: str) -> str:
    """As the macros of its header have it; NOASSERTION if it is not there, or has none."""
    _, include, macros = LIBRARIES[library]
    system = [] if library in ("libstdc++", "glibc", "mingw-w64") else ["-idirafter", "/usr/include"]
    text = include + "\n" + "\n".join(f"version {each}" for each in macros) + "\n"
    read = subprocess.run([compiler, "-std=c++20", "-E", "-P", *system, "-x", "c++", "-"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    numbers = [int(each) for each in re.findall(r"^version (\d+)\b", read, re.M)]
    if len(numbers) != len(macros) and library == "liburing":  # before 2.4, its header has no version
        return subprocess.run(["sh", "-c", "pkg-config --modversion liburing || echo NOASSERTION"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.strip()
    if len(numbers) != len(macros):
        return "NOASSERTION"
    if library == "boost":
        return f"{numbers[0] // 100000}.{numbers[0] // 100 % 1000}.{numbers[0] % 100}"
    if library == "fmt":
        return f"{numbers[0] // 10000}.{numbers[0] // 100 % 100}.{numbers[0] % 100}"
    return ".".join(map(str, numbers))


def identifier(text: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def package(name: str, version: str, license_of: str, **more) -> dict:
    described = {"name": name, "SPDXID": identifier(f"Package-{name}-{version}"), "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False, "licenseConcluded": license_of, "licenseDeclared": license_of,
                 "copyrightText": "NOASSERTION", **more}
    if version != "NOASSERTION":
        described["versionInfo"] = version
    return described


def parts_of(file: str) -> tuple[list[str], str, str]:
    """The libraries that a file of a release has or needs, which of the two, and the compiler that knows their versions."""
    for kind, compiler in COMPILERS.items():
        if kind in file:
            return (OF_WINDOWS if kind.startswith("windows") else OF_LINUX), "STATIC_LINK", compiler
    return (OF_LINUX if file.startswith("qd1_") else HEADERS), "DEPENDS_ON", COMPILERS["linux-x86_64"]


def document(version: str, directory: pathlib.Path) -> dict:
    files = sorted(each for each in directory.iterdir() if each.is_file())
    qio = package("qio", version, "BSL-1.0", primaryPackagePurpose="LIBRARY", supplier="NOASSERTION")
    packages, described, relations = {qio["SPDXID"]: qio}, [], [
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": qio["SPDXID"]}]
    whole = hashlib.sha256()
    for path in files:
        contents = path.read_bytes()
        whole.update(hashlib.sha256(contents).digest())
        described.append({
            "fileName": f"./{path.name}", "SPDXID": identifier(f"File-{path.name}"), "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "checksums": [{"algorithm": algorithm, "checksumValue": hashlib.new(algorithm.lower(), contents).hexdigest()}
                          for algorithm in ("SHA1", "SHA256")]})
        of_file = described[-1]["SPDXID"]
        relations.append({"spdxElementId": of_file, "relationshipType": "GENERATED_FROM",
                          "relatedSpdxElement": qio["SPDXID"]})
        libraries, how, compiler = parts_of(path.name)
        for each in libraries:
            library = package(each, version_of(each, compiler), LIBRARIES[each][0])
            packages[library["SPDXID"]] = library
            relations.append({"spdxElementId": of_file, "relationshipType": how,
                              "relatedSpdxElement": library["SPDXID"]})
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"qio-{version}",
        "documentNamespace": f"https://qio.invalid/spdx/qio-{version}-{whole.hexdigest()}",
        "creationInfo": {"created": created, "creators": [f"Tool: sbom.py-{version}"]},
        "packages": [packages[each] for each in sorted(packages)], "files": described, "relationships": relations,
    }


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    json.dump(document(sys.argv[1], pathlib.Path(sys.argv[2])), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
