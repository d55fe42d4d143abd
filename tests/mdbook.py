#!/usr/bin/env python3
"""Builds the book with mdbook and follows every link of its pages: to files, and to the places in them.

    tests/mdbook.py [MDBOOK]

Programs that pages include must be there, too.
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages that mdbook makes of all others.
MADE = ("print.html", "404.html", "toc.html")


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "mdbook"
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder).resolve()
        subprocess.run([program, "build", ROOT / "sim/book", "-d", site], check=True)
        pages = {page: page.read_text() for page in site.rglob("*.html")}
        places = {page: set(re.findall(r'id="([^"]+)"', text)) for page, text in pages.items()}
        problems, n_links = [], 0
        for page, text in pages.items():
            name = page.relative_to(site)
            if "{{#" in text:
                problems.append(f"{name}: a program is not included")
            if page.name in MADE:
                continue
            for link in map(html.unescape, re.findall(r'(?:href|src)="([^"]+)"', text)):
                if re.match(r"[a-z]+:|//", link):
                    continue
                n_links += 1
                path, _, place = link.partition("#")
                target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
                if not target.exists():
                    problems.append(f"{name}: {link} leads nowhere")
                elif place and urllib.parse.unquote(place) not in places.get(target, set()):
                    problems.append(f"{name}: {link} is no place there")
    print("\n".join(problems))
    print(f"{len(pages)} pages, {n_links} links, {len(problems)} problems")
    sys.exit(bool(problems) or n_links == 0)


main()
