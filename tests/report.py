"""Opens reports in a browser without a window, as their readers would: clicks, themes, a phone, paper.

    tests/report.py CHROMIUM SHOTS PAGE...

Speaks Chromium's own protocol over a pipe, so that nothing but Python and the browser is needed. Of each page it writes into the folder
SHOTS what is seen at the width of a desk and of a phone, by day and by night, and on paper.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DESK, PHONE = (1280, 900), (375, 812)


class Browser:
    """A browser, and one page in it."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp()
        ours, theirs = os.pipe(), os.pipe()
        # The browser reads its orders from 3 and answers on 4.
        moved = f"exec 3<&{ours[0]} 4>&{theirs[1]}; exec \"$@\""
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={self.folder}", "about:blank",
        ]
        self.process = subprocess.Popen(
            ["bash", "-c", moved, "bash", program, *options],
            pass_fds=[ours[0], theirs[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(ours[0]), os.close(theirs[1])
        self.orders, self.answers = ours[1], os.fdopen(theirs[0], "rb")
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.ask(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            more = self.answers.read1(1 << 20)
            if not more:
                sys.exit("the browser has gone")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.orders, json.dumps(order).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") != self.number:
                self.events.append(message)
                continue
            if "error" in message:
                sys.exit(f"{method}: {message['error']['message']}")
            return message["result"]

    def open(self, url):
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def look(self, size, theme):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=size == PHONE)

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def place(self, element):
        self.value(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        # What happens on scrolling has happened then.
        self.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")
        return self.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({element}.getBoundingClientRect())")

    def point(self, element):
        x, y = self.place(element)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, element):
        """A click as a hand makes it: where the element is, on whatever lies on top there."""
        x, y = self.place(element)
        for kind in ["mousePressed", "mouseReleased"]:
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def shot(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.ask("Browser.close")
        finally:
            self.process.wait(timeout=20)
            shutil.rmtree(self.folder, ignore_errors=True)


def require(holds, page, what):
    if not holds:
        sys.exit(f"{page.name}: {what}")


KEYS = """(at => [...document.querySelectorAll('table')[at].tBodies[0].rows].map(row => row.cells[COLUMN].dataset.key)
    .filter(key => key !== '').map(key => key === 'inf' ? 1e308 : Number(key)))"""


def sorts(browser, page):
    """Every column of numbers goes up with the first click on its head and down with the second; returns how many there were."""
    heads = browser.value(
        "[...document.querySelectorAll('table')].flatMap((table, t) => [...table.tHead.rows[0].cells]"
        ".map((head, c) => [t, c, head.classList.contains('n')])).filter(at => at[2])"
    )
    for table, column, _ in heads[:12]:
        keys = KEYS.replace("COLUMN", str(column)) + f"({table})"
        head = f"document.querySelectorAll('table')[{table}].tHead.rows[0].cells[{column}]"
        for way, expected in [("ascending", sorted), ("descending", lambda keys: sorted(keys, reverse=True))]:
            browser.click(f"{head}.querySelector('button')")
            found = browser.value(keys)
            require(found == expected(found), page, f"column {column} of table {table} is not {way}: {found}")
            told = browser.value(f"{head}.getAttribute('aria-sort')")
            require(told == way, page, f"aria-sort says {told} of a column that is {way}")
        others = browser.value(f"[...{head}.parentNode.cells].filter(cell => cell.getAttribute('aria-sort') !== 'none').length")
        require(others == 1, page, f"{others} columns say that they are sorted")
    return len(heads)


def points(browser, page):
    """A place in a figure says its numbers to a pointer; the name of an arm brings it forward and back. Returns how many of both there are."""
    spots = browser.value("document.querySelectorAll('.spots circle').length")
    if spots:
        # Of places that lie on each other the last lies on top.
        spot = "[...document.querySelectorAll('.spots circle')].at(-1)"
        said = browser.value(f"{spot}.dataset.said")
        browser.point(spot)
        tip = browser.value("(tip => [tip.hidden, tip.textContent])(document.getElementById('tip'))")
        require(tip == [False, said], page, f"a pointer at {said!r} is told {tip}")
        browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        require(browser.value("document.getElementById('tip').hidden"), page, "what is said of a place stays")
    names = browser.value("document.querySelectorAll('figure text[data-arm]').length")
    if names:
        name = "document.querySelector('figure text[data-arm]')"
        dimmed = f"[...{name}.closest('figure').querySelectorAll('[data-arm]')].filter(part => getComputedStyle(part).opacity < 1).length"
        others = browser.value(
            f"[...{name}.closest('figure').querySelectorAll('[data-arm]')].filter(part => part.dataset.arm !== {name}.dataset.arm).length"
        )
        for expected in [others, 0]:
            browser.click(name)
            browser.value("new Promise(done => setTimeout(done, 300))")
            found = browser.value(dimmed)
            require(found == expected, page, f"{found} parts of other arms step back, not {expected}")
    return spots, names


def check(browser, page, shots):
    browser.events.clear()
    browser.look(DESK, "light")
    browser.open(page.resolve().as_uri())
    n_sorted = sorts(browser, page)
    n_spots, n_names = points(browser, page)
    browser.value("scrollTo(0, 0)")
    paper = "getComputedStyle(document.body).backgroundColor"
    day = browser.value(paper)
    browser.click("document.getElementById('theme')")
    night = browser.value(paper)
    require(day != night, page, "the button changes no colour")
    browser.click("document.getElementById('theme')")
    require(browser.value(paper) == day, page, "the button does not go back")
    folded = browser.value("document.querySelectorAll('.folded').length")
    if folded:
        rows = "[...document.querySelector('.folded tbody').rows].filter(row => !row.hidden).length"
        before = browser.value(rows)
        browser.click("document.querySelector('.tools button')")
        require(browser.value(rows) > before, page, "a folded table does not unfold")
        word = browser.value("document.querySelector('.folded tbody').rows[0].cells[0].textContent.slice(0, 8).toLowerCase()")
        browser.value(f"(i => {{ i.value = {json.dumps(word)}; i.dispatchEvent(new Event('input')); }})(document.querySelector('.tools input'))")
        texts = browser.value("[...document.querySelector('.folded tbody').rows].filter(row => !row.hidden).map(row => row.textContent.toLowerCase())")
        require(texts and all(word.strip() in text for text in texts), page, f"the filter finds {texts} for {word!r}")
    for theme, expected in [("light", day), ("dark", night)]:
        for name, size in [("desk", DESK), ("phone", PHONE)]:
            # Anew, so that nothing is left of the clicks.
            browser.look(size, theme)
            browser.events.clear()
            browser.open(page.resolve().as_uri())
            require(browser.value(paper) == expected, page, f"not {theme} where the system is")
            width, room = browser.value("[document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]")
            require(width <= room, page, f"{width} pixels wide on a {name} of {room}")
            # What a browser takes no note of has no room: each figure has its own.
            flat = browser.value("[...document.querySelectorAll('.panels .panel svg')].filter(svg => svg.getBoundingClientRect().height < 40).length")
            require(flat == 0, page, f"{flat} figures have no height")
            if name == "phone":
                cut = browser.value("[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length")
                require(cut == 0, page, f"{cut} tables are wider than a phone")
            if shots:
                browser.shot(shots / f"{page.stem}-{name}-{theme}.png")
            heard(browser, page)
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    require(pdf.startswith(b"%PDF") and len(pdf) > 10_000, page, "cannot be printed")
    if shots:
        (shots / f"{page.stem}.pdf").write_bytes(pdf)
    print(f"{page.name}: {n_sorted} columns of numbers, {n_spots} places, {n_names} names of arms, {len(pdf)} bytes on paper")


def heard(browser, page):
    """No request but for the page itself and the font that it holds, and no complaint."""
    for event in browser.events:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            require(url == page.resolve().as_uri() or url.startswith("data:font/woff;"), page, f"asks for {url[:200]}")
        require(event.get("method") != "Runtime.exceptionThrown", page, f"throws {params.get('exceptionDetails')}")
        require(event.get("method") != "Log.entryAdded", page, f"logs {params.get('entry')}")
        require(event.get("method") != "Runtime.consoleAPICalled", page, f"says {params.get('args')}")


def main():
    program, shots, *pages = sys.argv[1:]
    shots = pathlib.Path(shots) if shots else None
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        for page in pages:
            check(browser, pathlib.Path(page), shots)
    finally:
        browser.close()


main()
