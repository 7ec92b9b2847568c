#!/usr/bin/env python3
"""Copies the headers of other libraries that Tessera's public headers include, however far away, to a folder.

usage: collect_headers.py TESSERA_INCLUDE OUT    TESSERA_INCLUDE holds tessera/; OUT gets boost/ and fmt/

Follows every #include in the text, whatever the conditions around it, so that the result is the same for every compiler. Boost
names some files by macros: its configuration is copied whole, and files of the preprocessor library that list others too.
"""
import os
import re
import shutil
import sys

SYSTEM = ["/usr/include", "/usr/local/include"]
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", re.M)
# By macro: `# define BOOST_USER_CONFIG <boost/config/user.hpp>` and the like.
NAMED = re.compile(r"[<\"](boost/[\w/.+-]+\.(?:hpp|ipp|h))[>\"]")


def find(name: str, beside: str) -> str | None:
    """Returns where the header is, if it is one of Boost or fmt."""
    local = os.path.normpath(os.path.join(os.path.dirname(beside), name))
    for path in [os.path.relpath(local, root) for root in SYSTEM if local.startswith(root + "/")] + [name]:
        if path.split("/")[0] in ("boost", "fmt"):
            for root in SYSTEM:
                if os.path.isfile(os.path.join(root, path)):
                    return os.path.join(root, path)
    return None


def main(include: str, out: str) -> None:
    todo, seen = [], set()
    for folder, _, names in os.walk(os.path.join(include, "tessera")):
        todo += [os.path.join(folder, name) for name in names]
    for root in SYSTEM:
        for folder, _, names in os.walk(os.path.join(root, "boost/config")):
            todo += [os.path.join(folder, name) for name in names]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name in INCLUDE.findall(text) + NAMED.findall(text):
            found = find(name, path)
            if found:
                todo.append(found)
    count = 0
    for path in seen:
        for root in SYSTEM:
            if path.startswith(root + "/"):
                target = os.path.join(out, os.path.relpath(path, root))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(path, target)
                count += 1
    if not count:
        sys.exit("collect_headers: expected headers of Boost and fmt in /usr/include, found none")
    print(f"{count} headers of other libraries")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
