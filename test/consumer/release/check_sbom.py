#!/usr/bin/env python3
"""check_sbom.py FILE DIRECTORY: checks an SPDX 2.3 document, and that it has the hashes of each file in DIRECTORY.

Checks what the specification requires of each part that is used here. Prints what is wrong; exit status 1 if anything is.
"""
import hashlib
import json
import pathlib
import re
import sys

REQUIRED = {
    "document": ["spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"],
    "package": ["SPDXID", "name", "downloadLocation"],
    "file": ["SPDXID", "fileName", "checksums"],
    "relationship": ["spdxElementId", "relationshipType", "relatedSpdxElement"],
}
IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")


def lacking(kind: str, element: dict):
    yield from (f"a {kind} has no {each}: {element}" for each in REQUIRED[kind] if not element.get(each))


def mistakes(document: dict, directory: pathlib.Path, own_name: str):
    yield from lacking("document", document)
    if document.get("spdxVersion") != "SPDX-2.3" or document.get("dataLicense") != "CC0-1.0":
        yield "it is not a document of SPDX 2.3"
    creation = document.get("creationInfo", {})
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", creation.get("created", "")):
        yield "creationInfo has no time"
    if not creation.get("creators") or not all(re.match(r"(Tool|Person|Organization): ", each) for each in creation["creators"]):
        yield "creationInfo has no creator"
    known = [document.get("SPDXID")]
    for kind, name in ("package", "packages"), ("file", "files"):
        for element in document.get(name, []):
            yield from lacking(kind, element)
            known.append(element.get("SPDXID"))
    yield from (f"{each} is no identifier" for each in known if not IDENTIFIER.fullmatch(each or ""))
    yield from (f"{each} is used twice" for each in set(known) if known.count(each) > 1)
    for element in document.get("relationships", []):
        yield from lacking("relationship", element)
        yield from (f"{element[end]} is not described" for end in ("spdxElementId", "relatedSpdxElement")
                    if element.get(end) not in known)
    if not any(each.get("relationshipType") == "DESCRIBES" for each in document.get("relationships", [])):
        yield "the document describes nothing"
    described = {each["fileName"].removeprefix("./"): each for each in document.get("files", [])}
    there = {each.name for each in directory.iterdir()} - {own_name, "SHA256SUMS"}
    yield from (f"{each} is not described" for each in sorted(there - described.keys()))
    yield from (f"{each} is described and does not exist" for each in sorted(described.keys() - there))
    for name in sorted(there & described.keys()):
        sums = {each["algorithm"]: each["checksumValue"] for each in described[name]["checksums"]}
        contents = (directory / name).read_bytes()
        yield from (f"{name} has another {each}" for each in ("SHA1", "SHA256")
                    if sums.get(each) != hashlib.new(each.lower(), contents).hexdigest())
    for name, count in (("qd1-", 5), ("qio-", 1)):
        for each in described.values():
            of_it = [one for one in document["relationships"] if one["spdxElementId"] == each["SPDXID"] and
                     one["relationshipType"] in ("STATIC_LINK", "DEPENDS_ON")]
            if each["fileName"].startswith(f"./{name}") and len(of_it) < count:
                yield f"{each['fileName']} needs more libraries than {len(of_it)}"
    for each in document["packages"]:
        if not each.get("versionInfo"):
            yield f"{each['name']} has no version"


def main() -> int:
    path, directory = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = list(mistakes(json.loads(path.read_text(encoding="utf-8")), directory, path.name))
    for each in found:
        print(f"{path.name}: {each}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
