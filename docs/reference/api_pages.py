#!/usr/bin/env python3
"""Writes one page a public header for the site: what the header says, and its names with one line each.

    api_pages.py XML OUT REFERENCE

XML is Doxygen's output in XML, OUT the folder `api` of the site's source, REFERENCE where Doxygen's
own pages are, as seen from OUT. Every name links to its full description there. These pages exist so
that the site's search, which reads its pages and no others, finds every name and every comment.
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree


def text(element):
    """Returns the plain text of a description, its spaces made single."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def escaped(line):
    for character in "\\`*_|<>":
        line = line.replace(character, "\\" + character)
    return line


def target(reference, identifier):
    """Returns the address of what Doxygen calls `identifier`: a page, or an anchor of one."""
    member = re.fullmatch("(.*)_1(a[0-9a-f]{30,})", identifier)
    if member:
        return f"{reference}/{member[1]}.html#{member[2]}"
    return f"{reference}/{identifier}.html"


def entry(reference, identifier, name, brief):
    line = f"* `{escaped(name)} <{target(reference, identifier)}>`__"
    return line + (f": {escaped(brief)}" if brief else "")


def described(definition):
    parts = [text(definition.find(part)) for part in ("briefdescription", "detaileddescription")]
    return " ".join(part for part in parts if part)


def lines_for(members, reference):
    """Returns one line for each of the members that a user may name."""
    lines = []
    for member in members:
        name = member.find("name").text
        if member.get("prot") == "private" or name.startswith("@"):
            continue
        if member.get("kind") == "function":
            name += text(member.find("argsstring"))
        lines.append(entry(reference, member.get("id"), name, described(member)))
    return lines


def page(header, members, records, reference):
    """Returns the text of the page of one header: its comment, its functions, its classes and theirs."""
    path = header.find("location").get("file")
    lines = [escaped(path), "=" * (2 * len(path)), "", escaped(described(header)), ""]
    lines += lines_for(members, reference)
    for record in records:
        name = record.find("compoundname").text
        lines.append(entry(reference, record.get("id"), name, described(record)))
        lines += ["", *("  " + line for line in lines_for(record.iterfind("sectiondef/memberdef"), reference)), ""]
    return "\n".join(lines) + "\n"


def read(xml, kinds):
    """Returns Doxygen's descriptions of these kinds."""
    index = ElementTree.parse(os.path.join(xml, "index.xml")).getroot()
    return [ElementTree.parse(os.path.join(xml, compound.get("refid") + ".xml")).getroot()[0]
            for compound in index.iterfind("compound") if compound.get("kind") in kinds]


def declared_in(element):
    location = element.find("location")
    return location.get("declfile") or location.get("file")


def main(xml, out, reference):
    members, records, folders = {}, {}, {}
    for namespace in read(xml, ["namespace", "file"]):
        for member in namespace.iterfind("sectiondef/memberdef"):
            members.setdefault(declared_in(member), {})[member.get("id")] = member
    for record in read(xml, ["class", "struct", "union"]):
        if record.get("prot") == "public":
            records.setdefault(declared_in(record), []).append(record)
    for header in read(xml, ["file"]):
        path = header.find("location").get("file")
        if path not in members and path not in records:
            continue
        folder, name = os.path.split(path)
        file = f"{folder.replace('/', '_')}_{name.replace('.', '_')}"
        folders.setdefault(folder, []).append(file)
        with open(os.path.join(out, file + ".rst"), "w", encoding="utf-8") as stream:
            stream.write(page(header, members.get(path, {}).values(), records.get(path, []), reference))
    if not folders:
        sys.exit(f"api_pages: expected headers in {xml}, found none")
    for folder, files in folders.items():
        with open(os.path.join(out, folder.replace("/", "_") + ".rst"), "w", encoding="utf-8") as stream:
            stream.write("\n".join([escaped(folder), "=" * (2 * len(folder)), "", ".. toctree::", ""]))
            stream.write("".join(f"\n   {file}" for file in sorted(files)) + "\n")
    with open(os.path.join(out, "index.rst"), "w", encoding="utf-8") as stream:
        stream.write("API reference\n=============\n\nThe public headers, by folder. "
                     f"`Doxygen's pages <{reference}/index.html>`__ hold the same by namespace and by class.\n\n"
                     ".. toctree::\n   :maxdepth: 1\n\n")
        stream.write("".join(f"   {folder.replace('/', '_')}\n" for folder in sorted(folders)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
