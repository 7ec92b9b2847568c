#!/usr/bin/env python3
"""The functions that the text of the pages names, as `name()` or `tessera::name`, are in headers that are installed.

Blocks of C++ are compiled by the test `docs`, so this reads what stands between them.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Functions of others, and of the library's own sources, that pages speak of.
OTHERS = {
    "exit": "of the C library",
    "to_dict": "of the plugin's Python module",
    "op_text": "of the writer of bytecode",
}


def installed_headers():
    # As tessera_public_headers in cmake/TesseraHeaders.cmake: these, and what they include.
    todo = ["tessera/tessera.h", "tessera/format.h", "tessera/privacy/privacy.h"]
    listed = (ROOT / "cmake/TesseraHeaders.cmake").read_text(encoding="utf-8")
    todo += re.findall(r"tessera/scipy/\w+\.h", listed)
    todo += [f"tessera/scipy/{module}.h" for module in
             re.search(r"foreach\(module ([^)]*)\)", listed).group(1).split()]
    headers = {}
    while todo:
        header = todo.pop()
        if header not in headers:
            headers[header] = (ROOT / header).read_text(encoding="utf-8")
            todo += re.findall(r'^#include [<"](tessera/[^>"]+)[>"]', headers[header], re.M)
    return headers


def named(page):
    """The functions that a page's text names, in their order."""
    text = re.sub(r"```.*?```", "", page, flags=re.S)
    for code in re.findall(r"`([^`\n]+)`", text):
        yield from re.findall(r"tessera::((?:\w+::)*\w+)", code)
        if call := re.fullmatch(r"((?:\w+::)*[a-z_]\w*)\(\)", code):
            yield call.group(1)


class NamesInText(unittest.TestCase):
    def test_names_are_found(self):
        page = "`a::b()` and ``c``\n```cpp\n`d()`\n```\n`tessera::e(x)` `f(x)` `g()`"
        self.assertEqual(list(named(page)), ["a::b", "e", "g"])

    def test_what_pages_name_is_installed(self):
        words = set()
        for text in installed_headers().values():
            words.update(re.findall(r"[A-Za-z_]\w*", text))
        pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")]
        count = 0
        for page in sorted(pages):
            for name in named(page.read_text(encoding="utf-8")):
                count += 1
                last = name.split("::")[-1]
                self.assertTrue(last in words or name in OTHERS,
                                f"{page.relative_to(ROOT)}: `{name}` is in no installed header")
        self.assertGreater(count, 50)


if __name__ == "__main__":
    unittest.main()
