#!/usr/bin/env python3
"""Tests that users may have names of their own next to `using namespace tessera;`, with all installed headers.

    tests/names/user_names_test.py COMPILER [FLAG ...]

A program may name a function, a type, a variable or a namespace like an internal namespace of the library, because the
headers that users include do not declare internal namespaces.
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
from names_in_text_test import installed_headers  # noqa: E402

# The namespaces that users write (docs/architecture.md), and the internal ones that the headers need.
PUBLIC = {"checkpoint_policies", "debug", "experimental", "fft", "image", "initializers", "lax", "linalg", "linen", "nn", "nnx",
          "optim", "privacy", "random", "scipy", "tree"}
INNER = {"internal", "ir", "ops"}
# Headers that need a package of their own.
OPTIONAL = {"tessera/eigen.h", "tessera/mdspan.h"}
# Declares `name` and uses it, unqualified, after both directives.
KINDS = {
    "function": ("int {0}(int x) {{ return x; }}", "int use_{0}() {{ return {0}(1); }}"),
    "type": ("struct {0} {{ int x; }};", "int use_{0}() {{ {0} y{{1}}; return y.x; }}"),
    "variable": ("int {0} = 1;", "int use_{0}() {{ return {0}; }} int local_{0}() {{ int {0} = 2; return {0}; }}"),
    "namespace": ("namespace {0} {{ int x; }}", "int use_{0}() {{ return {0}::x; }}"),
}


def namespaces(text):
    """Returns the namespaces that a header declares directly in namespace tessera."""
    text = re.sub(r"""//[^\n]*|"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])'""", "", text)
    found, around = set(), []
    for opened, brace in re.findall(r"\bnamespace\s+([\w:]+)\s*\{|([{}])", text):
        if brace == "}":
            around.pop()
            continue
        around.append(opened)
        path = "::".join(around).split("::")
        if opened and path[0] == "tessera" and len(path) > 1:
            found.add(path[1])
    return found


def inner_names():
    """Returns the names of the library's folders and internal namespaces, without those that users write."""
    folders = {path.name for path in (ROOT / "tessera").iterdir() if path.is_dir()}
    declared = namespaces((ROOT / "tessera/base/namespaces.h").read_text(encoding="utf-8"))
    # numpy has a function trace, the standard library a function transform.
    return sorted((folders | declared) - PUBLIC - INNER - {"trace", "transform"})


class UserNames(unittest.TestCase):
    command = []

    def test_namespaces_are_found(self):
        text = "namespace tessera { namespace a { namespace b { } } struct S { }; }\nnamespace tessera::c::d { }"
        self.assertEqual(namespaces(text), {"a", "c"})

    def test_headers_declare_no_others(self):
        for header, text in installed_headers().items():
            self.assertLessEqual(namespaces(text), PUBLIC | INNER, f"{header}: not for users")

    def test_names_are_free(self):
        names = inner_names()
        self.assertGreater(len(names), 15)
        includes = "".join(f"#include <{header}>\n" for header in sorted(set(installed_headers()) - OPTIONAL)
                           if header.endswith(".h"))
        for kind, (declaration, use) in KINDS.items():
            lines = [declaration.format(name) for name in names]
            lines += ["using namespace std;", "using namespace tessera;"]
            lines += [use.format(name) for name in names]
            done = subprocess.run([*self.command, "-std=c++20", "-fsyntax-only", f"-I{ROOT}", "-x", "c++", "-"],
                                  input=includes + "\n".join(lines), capture_output=True, text=True)
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            self.assertEqual(done.returncode, 0, f"{kind}: {errors[:5]}")


if __name__ == "__main__":
    UserNames.command = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
