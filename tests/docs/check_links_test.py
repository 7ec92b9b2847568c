#!/usr/bin/env python3
"""The check of the site's links (docs/reference/check_links.py), on sites with one fault each."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckLinks(unittest.TestCase):
    def run_on(self, pages):
        with tempfile.TemporaryDirectory() as site:
            for name, text in pages.items():
                path = pathlib.Path(site, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return subprocess.run([sys.executable, ROOT / "docs/reference/check_links.py", site],
                                  capture_output=True, text=True, check=False)

    def test_live_links_pass(self):
        done = self.run_on({
            "index.html": '<h1 id="top">T</h1><a href="#top">a</a><a href="more/b.html#n%C3%A4h">b</a>'
                          '<a href="https://example.org/none">c</a>',
            "more/b.html": '<a name="näh"></a><img src="../dot.svg">',
            "dot.svg": "<svg/>",
        })
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "check_links: 3 links, none dead\n")

    def test_a_missing_page_fails(self):
        done = self.run_on({"index.html": '<p>\n<a href="none.html">a</a>'})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "index.html:2: none.html: there is no such file\n"
                                      "check_links: 1 of 1 links lead nowhere\n")

    def test_a_missing_heading_fails(self):
        done = self.run_on({"index.html": '<a href="b.html#there">a</a>', "b.html": '<p id="here">'})
        self.assertEqual(done.returncode, 1)
        self.assertIn("index.html:1: b.html#there: there is no such heading\n", done.stderr)

    def test_a_missing_image_fails(self):
        self.assertEqual(self.run_on({"index.html": '<img src="dots.svg">'}).returncode, 1)

    def test_an_empty_site_fails(self):
        done = self.run_on({})
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected pages with links", done.stderr)


if __name__ == "__main__":
    unittest.main()
