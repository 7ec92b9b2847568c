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
    return text(definition.find("briefdescription")) + " " + text(definition.find("detaileddescription"))


def members(definition, reference):
    """Returns the lines for the public members of a file or class, overloads of one comment once."""
    lines = []
    for member in definition.iterfind("sectiondef/memberdef"):
        if member.get("prot") == "private" or member.find("name").text.startswith("@"):
            continue
        name = member.find("name").text + (text(member.find("argsstring")) if member.get("kind") == "function" else "")
        lines.append(entry(reference, member.get("id"), name, described(member).strip()))
    return lines


def page(xml, header, reference):
    """Returns the text of one header's page, or None if it declares nothing."""
    path = header.find("location").get("file")
    lines = [escaped(path), "=" * (2 * len(path)), "", escaped(described(header).strip()), ""]
    names = members(header, reference)
    for inner in header.iterfind("innerclass"):
        if "::internal" in inner.text or inner.get("prot") == "private":
            continue
        record = ElementTree.parse(os.path.join(xml, inner.get("refid") + ".xml")).getroot()[0]
        names.append(entry(reference, inner.get("refid"), inner.text, described(record).strip()))
        names += ["", *("  " + line for line in members(record, reference)), ""]
    return "\n".join(lines + names) + "\n" if names else None


def main(xml, out, reference):
    folders = {}
    index = ElementTree.parse(os.path.join(xml, "index.xml")).getroot()
    for compound in index.iterfind("compound[@kind='file']"):
        header = ElementTree.parse(os.path.join(xml, compound.get("refid") + ".xml")).getroot()[0]
        path = header.find("location").get("file")
        written = page(xml, header, reference)
        if written is None:
            continue
        folder, name = os.path.split(path)
        folder = folder.replace("/", "_")
        file = f"{folder}_{name.replace('.', '_')}"
        folders.setdefault(folder, (os.path.dirname(path), []))[1].append(file)
        with open(os.path.join(out, file + ".rst"), "w", encoding="utf-8") as stream:
            stream.write(written)
    for folder, (path, files) in folders.items():
        with open(os.path.join(out, folder + ".rst"), "w", encoding="utf-8") as stream:
            stream.write("\n".join([escaped(path), "=" * (2 * len(path)), "", ".. toctree::", ""]))
            stream.write("".join(f"\n   {file}" for file in sorted(files)) + "\n")
    with open(os.path.join(out, "index.rst"), "w", encoding="utf-8") as stream:
        stream.write("API reference\n=============\n\nThe public headers, by folder. "
                     f"`Doxygen's pages <{reference}/index.html>`__ hold the same by namespace and by class.\n\n"
                     ".. toctree::\n   :maxdepth: 1\n\n")
        stream.write("".join(f"   {folder}\n" for folder in sorted(folders)))
    if not folders:
        sys.exit(f"api_pages: expected headers in {xml}, found none")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
