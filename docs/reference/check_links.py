#!/usr/bin/env python3
"""Fails on links of a built site that lead nowhere: check_links.py SITE

Reads every HTML file below SITE and looks up the file and the anchor that each relative link, image
and script names. Addresses with a scheme (https:, mailto:, data:) are not followed.
"""

import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of one page, each with its line, and the anchors it offers."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append((self.getpos()[0], value))


def read_pages(site):
    pages = {}
    for folder, _, files in os.walk(site):
        for file in files:
            if file.endswith(".html"):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as stream:
                    pages[os.path.normpath(path)] = Page(stream.read())
    return pages


def dead_links(site):
    """Returns one message for each link that leads nowhere, and how many links there are."""
    pages, found, count = read_pages(site), [], 0
    for path, page in sorted(pages.items()):
        for line, link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            name = urllib.parse.unquote(parts.path)
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            at = f"{os.path.relpath(path, site)}:{line}: {link}"
            if not os.path.exists(to):
                found.append(f"{at}: there is no such file")
            elif parts.fragment and to in pages:
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor not in pages[to].anchors:
                    found.append(f"{at}: there is no such heading")
    return found, count


def main(site):
    found, count = dead_links(site)
    for message in found:
        print(message, file=sys.stderr)
    if not count:
        sys.exit(f"check_links: expected pages with links in {site}, found none")
    if found:
        sys.exit(f"check_links: {len(found)} of {count} links lead nowhere")
    print(f"check_links: {count} links, none dead")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
