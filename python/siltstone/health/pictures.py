"""Pictures of a report: drawn by matplotlib as SVG that stands inside of a page and takes the page's colours.

No text of a table goes through matplotlib, which would take ``$`` for mathematics and look for the letters in its own
font: it draws numbered places, which become the escaped texts afterwards.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from siltstone._looks import escaped, size_text
from siltstone.errors import InvalidArgument
from siltstone.health.figures import Bucket, Keeper, Moment, PartitionClass, SizeClass
from siltstone.health.files import AGES

if TYPE_CHECKING:
    Axes = Any  # of matplotlib, whose stubs know no times as places on an axis

#: Colours that are drawn, and what they become: variables of the page's style sheet.
TEXT, LINE = "#010203", "#010204"
SERIES = tuple(f"#0102{n:02x}" for n in range(16, 24))
_COLOURS = {TEXT: "currentColor", LINE: "var(--line)", **{c: f"var(--s{at})" for at, c in enumerate(SERIES)}}
_KINDS = {"APPEND": SERIES[0], "COMPACT": SERIES[1], "OVERWRITE": SERIES[2], "ANALYZE": SERIES[3]}
_WIDTH = 4.2
_LETTERS = 18
#: Of a timeline.
_SHORTEST = dt.timedelta(minutes=1)
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "siltstone",
    "text.parse_math": False,
    "font.size": 9,
    "axes.edgecolor": LINE,
    "axes.labelcolor": TEXT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "grid.linewidth": 0.5,
    "text.color": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


class Names:
    """Texts of the table, which stand in a picture as numbered places."""

    def __init__(self) -> None:
        """None yet."""
        self._texts: list[str] = []

    def place(self, text: str) -> str:
        """A place for a text, which is shortened."""
        shown = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
        self._texts.append(shown)
        width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)
        return f"@{len(self._texts) - 1}@".ljust(width, "_")

    def filled(self, svg: str) -> str:
        """A picture with the texts in their places."""
        return re.sub(r"@(\d+)@_*", lambda found: escaped(self._texts[int(found[1])]), svg)


def require_matplotlib() -> None:
    """Raise where the library is not installed.

    Raises:
        InvalidArgument: It is not.
    """
    try:
        import matplotlib as mpl
    except ImportError as e:
        raise InvalidArgument("matplotlib is not installed", hint="pip install 'siltstone[plot]'") from e
    del mpl


def _picture(height: float, label: str, draw: Callable[[Axes, Names], None]) -> str:
    """A picture as an SVG element."""
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    names = Names()
    out = io.StringIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes, names)
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    for drawn, shown in _COLOURS.items():
        svg = svg.replace(drawn, shown)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return names.filled(svg.replace("<svg ", f'<svg role="img" aria-label="{escaped(label)}" ', 1))


def _sizes(axes: Axes, largest: int) -> None:
    """Sizes along the axis below, at whole powers of two."""
    step = 1 << (largest // 4).bit_length()
    ticks = range(0, largest + step, step)
    axes.set_xticks(ticks, [_short_size(tick) for tick in ticks])


def _short_size(size: int) -> str:
    return size_text(size).replace(".0 ", " ")


def _legend(axes: Axes) -> None:
    """Names of the colours, below the picture."""
    axes.figure.legend(loc="outside lower center", ncols=4)


def timeline(moments: Sequence[Moment]) -> str:
    """Snapshots along time, with the rows of their files; tags are marked."""

    def draw(axes: Axes, names: Names) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        times = [m.time for m in moments]
        heights = [m.rows or 0 for m in moments]
        axes.step(times, heights, where="post", color=LINE, linewidth=1.5)
        for kind in dict.fromkeys(m.kind for m in moments):
            chosen = [at for at, m in enumerate(moments) if m.kind == kind]
            axes.scatter(
                [times[at] for at in chosen],
                [heights[at] for at in chosen],
                s=14,
                color=_KINDS.get(kind, TEXT),
                label=names.place(kind),
                zorder=3,
            )
        for moment in [m for m in moments if m.tags][-8:]:
            axes.axvline(moment.time, color=SERIES[4], linewidth=1, linestyle=":")
            label = names.place(", ".join(moment.tags))
            axes.text(moment.time, 1.0, label, transform=axes.get_xaxis_transform(), rotation=30, fontsize=8)
        locator = AutoDateLocator(minticks=3, maxticks=8)
        if times[-1] - times[0] < _SHORTEST:
            axes.set_xlim(times[0] - _SHORTEST / 2, times[0] + _SHORTEST)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.yaxis.set_major_formatter(lambda value, _: f"{int(value):,}")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("rows in files")
        _legend(axes)

    return _picture(3.2, "snapshots along time", draw)


def _bars(axes: Axes, labels: Sequence[str], parts: Sequence[tuple[str, str, Sequence[int]]]) -> None:
    """Horizontal bars, one below the other, each of several parts: name, colour, and a size for each bar."""
    left = [0] * len(labels)
    places = list(range(len(labels)))
    for name, colour, sizes in parts:
        axes.barh(places, sizes, left=left, color=colour, label=name, height=0.7)
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    _sizes(axes, max(left))
    if len(parts) > 1:
        _legend(axes)


def kept(keepers: Sequence[Keeper]) -> str:
    """What the newest version, earlier snapshots, tags and branches keep."""
    shown = [(k, k.bytes, k.only_bytes or 0) for k in keepers if k.bytes is not None][:20]

    def draw(axes: Axes, names: Names) -> None:
        labels = [names.place(keeper_name(k)) for k, _, _ in shown]
        alone = [only for _, _, only in shown]
        shared = [size - only for _, size, only in shown]
        _bars(axes, labels, [("kept by this alone", SERIES[2], alone), ("shared", SERIES[0], shared)])

    return _picture(1.1 + 0.24 * len(shown), "bytes that each version keeps", draw)


def keeper_name(keeper: Keeper) -> str:
    """A keeper in a word or two."""
    return {"newest": "newest version", "snapshots": "earlier snapshots"}.get(
        keeper.kind, f"{keeper.kind} {keeper.name}"
    )


def levels(buckets: Sequence[Bucket]) -> str:
    """Bytes of each level of the buckets with the most runs."""
    shown = buckets[:20]
    found = sorted({level for bucket in shown for level in bucket.levels})

    def draw(axes: Axes, names: Names) -> None:
        labels = [names.place(f"{b.partition} {b.bucket}".removeprefix("{} ")) for b in shown]
        parts = [
            (f"level {level}", SERIES[level % len(SERIES)], [b.levels.get(level, 0) for b in shown]) for level in found
        ]
        _bars(axes, labels, parts)

    return _picture(1.1 + 0.24 * len(shown), "bytes of each level by bucket", draw)


def sizes(classes: Sequence[SizeClass]) -> str:
    """How many files there are of which size."""

    def draw(axes: Axes, _: Names) -> None:
        first, last = classes[0].least_bytes.bit_length(), classes[-1].least_bytes.bit_length()
        by_power = {c.least_bytes.bit_length(): c for c in classes}
        powers = list(range(first, last + 1))
        files = [by_power[p].files if p in by_power else 0 for p in powers]
        fresh = [by_power[p].fresh if p in by_power else 0 for p in powers]
        axes.bar(powers, files, color=SERIES[0], label="files")
        if any(fresh):
            axes.bar(powers, fresh, bottom=files, color=SERIES[2], label="of level 0")
            _legend(axes)
        step = max(1, len(powers) // 6)
        axes.set_xticks(powers[::step], [_short_size(2 ** (p - 1)) for p in powers[::step]])
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("size of a file")

    return _picture(2.6, "number of files by size", draw)


def partitions(classes: Sequence[PartitionClass]) -> str:
    """Partitions by the time since their last write, and by size."""

    def draw(axes: Axes, _: Names) -> None:
        most = max(c.partitions for c in classes)
        areas = [20 + 380 * c.partitions / most for c in classes]
        places = [c.least_bytes.bit_length() for c in classes]
        axes.scatter([c.age for c in classes], places, s=areas, color=SERIES[0], alpha=0.8)
        for c, place in zip(classes, places, strict=True):
            axes.annotate(f"{c.partitions:,}", (c.age, place), ha="center", va="center", fontsize=8)
        axes.set_xticks(range(len(AGES)), [name for name, _ in AGES])
        axes.set_xlim(-0.6, len(AGES) - 0.4)
        axes.set_ylim(min(places) - 1.5, max(places) + 1.5)
        axes.yaxis.set_major_formatter(lambda p, _: _short_size(2 ** max(0, int(p) - 1)))
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("last written within")
        axes.set_ylabel("size")

    return _picture(3.0, "number of partitions by age and size", draw)


def deleted(buckets: Sequence[Bucket]) -> str:
    """Shares of rows that deletion vectors delete, of the buckets shown that have such."""
    shown = sorted((b for b in buckets if b.deleted_rows), key=lambda b: -b.deleted_rows)[:20]

    def draw(axes: Axes, names: Names) -> None:
        labels = [names.place(f"{b.partition} {b.bucket}".removeprefix("{} ")) for b in shown]
        axes.barh(range(len(shown)), [100 * b.deleted_rows / max(1, b.rows) for b in shown], color=SERIES[3])
        axes.set_yticks(range(len(shown)), labels)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("% of rows in files")

    return _picture(1.1 + 0.24 * len(shown), "share of deleted rows by bucket", draw)
