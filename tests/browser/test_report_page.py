"""The page of a report in a real browser (Chromium, by Qt): nothing on the console, readable narrow and wide, light and dark.

The browser is in the virtual environment of `make docs`, which runs this; elsewhere it is one that is installed, or a skip.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

#: An interpreter that has PyQt6 with its web engine.
PYTHON = os.environ.get("SILTSTONE_BROWSER", sys.executable)
_TRIED = subprocess.run([PYTHON, "-c", "import PyQt6.QtWebEngineWidgets"], capture_output=True, text=True, check=False)
pytestmark = pytest.mark.skipif(_TRIED.returncode != 0, reason=f"no browser: {_TRIED.stderr[-200:]}")

#: Loads a page at two widths; prints one JSON object each, saves a picture, and prints what comes to the console.
BROWSER = """
import json, sys
from PyQt6.QtCore import QTimer, QUrl
from PyQt6.QtWidgets import QApplication
from PyQt6.QtWebEngineCore import QWebEnginePage
from PyQt6.QtWebEngineWidgets import QWebEngineView

app = QApplication(sys.argv[:1])

class Page(QWebEnginePage):
    def javaScriptConsoleMessage(self, level, message, line, source):
        print(json.dumps({"console": message}), flush=True)

ASK = '''JSON.stringify({
  width: document.documentElement.scrollWidth,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  ink: getComputedStyle(document.querySelector('svg text')).fill,
  letters: Math.min(...[...document.querySelectorAll('svg text')].map(
    t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width
      / t.ownerSVGElement.viewBox.baseVal.width)),
  outside: [...document.querySelectorAll('svg text')].filter(t => {
    const b = t.getBoundingClientRect(), s = t.ownerSVGElement.getBoundingClientRect();
    return b.left < s.left - 1 || b.right > s.right + 1; }).map(t => t.textContent)})'''

view = QWebEngineView()
page = Page(view)
view.setPage(page)
widths = [400, 1600]

def following():
    if not widths:
        return app.quit()
    view.resize(widths[0], 1500)
    view.show()
    page.load(QUrl.fromLocalFile(sys.argv[1]))

def told(answer):
    print(json.dumps({"asked": widths[0], **json.loads(answer)}), flush=True)
    view.grab().save(sys.argv[2] % widths.pop(0))
    following()

page.loadFinished.connect(lambda _: QTimer.singleShot(300, lambda: page.runJavaScript(ASK, told)))
following()
QTimer.singleShot(60000, app.quit)
app.exec()
"""


def shown(path, pictures, scheme):
    """What the browser says of a page, with 1 as the scheme light, with 0 dark."""
    flags = f"--no-sandbox --disable-gpu --blink-settings=preferredColorScheme={scheme}"
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_CHROMIUM_FLAGS": flags}
    command = [PYTHON, "-c", BROWSER, str(path), str(pictures)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


@pytest.mark.parametrize("scheme", [1, 0], ids=["light", "dark"])
def test_a_report_is_readable(make, tmp_path, scheme):
    t = make({"dt": "STRING", "id": "BIGINT"}, ["dt", "id"], ["dt"], bucket=2, write_only="true")
    for number in range(5):
        t.upsert([{"dt": f"2026-11-2{n % 3}", "id": n + number} for n in range(50)])
    t.tags.create("a tag with a rather long name <script>alert(1)")
    place = pathlib.Path(os.environ.get("SILTSTONE_PICTURES", tmp_path))
    t.report(html=tmp_path / "report.html")
    found, errors = shown(tmp_path / "report.html", place / f"report-%d-{scheme}.png", scheme)
    assert [page.get("asked") for page in found] == [400, 1600], errors
    for page in found:
        assert page["dark"] is (scheme == 0)
        assert page["width"] <= page["asked"], "the page scrolls sideways"
        assert page["letters"] >= 8, "letters of the pictures are too small"
        assert page["outside"] == []
        bright = sum(map(int, page["ink"].removeprefix("rgb(").rstrip(")").split(",")))
        assert (bright > 500) is page["dark"], "letters have the colour of the page"
    assert len(list(place.glob(f"report-*-{scheme}.png"))) == 2
