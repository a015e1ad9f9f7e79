"""Plots as SVG, drawn by hand: lines by k, bars with intervals, points by size. Colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from evals.summary import Estimate

_WIDTH = 680
_LEFT = 44
_TOP = 14
_LABELS = 236  # to the right of lines, for their names
_NAMES = 186  # to the left of bars
_ROW = 22
_PANEL = 400
_COLOURS = 8  # the page's style has as many, `.c0` to `.c7`
_TEXT = 15  # from one label to the next, so that they don't overlap
_SAME = 0.005  # lines nearer than this at every point can't be told apart: they are drawn as one


def lines_by_k(series: Mapping[str, Mapping[int, float]], label: str) -> str:
    """Draw one line a system over the cutoffs, which stand at equal distances; names stand at the ends of lines."""
    cutoffs = sorted({cutoff for points in series.values() for cutoff in points})
    height, bottom, right = 320, 288, _WIDTH - _LABELS
    places = {k: _LEFT + (right - _LEFT) * (n + 0.3) / max(1.0, len(cutoffs) - 0.4) for n, k in enumerate(cutoffs)}
    parts = _share_axis(bottom, right)
    parts += [_text(places[k], bottom + 20, f"@{k}", "middle") for k in cutoffs]
    drawn = {joined: points for joined, points in _told_apart(series).items() if points}
    ends = _spread([_height(points[max(points)], bottom) for points in drawn.values()], bottom)
    for number, ((titles, points), end) in enumerate(zip(drawn.items(), ends, strict=True)):
        colour = _colour(number)
        dots = {k: (places[k], _height(points[k], bottom)) for k in cutoffs if k in points}
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots.values())
        parts.append(f'<polyline class="line {colour}" points="{path}"/>')
        parts += [
            f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{escape(', '.join(titles))} @{k}: {points[k]:.3f}</title></circle>"
            for k, (x, y) in dots.items()
        ]
        x, y = dots[max(dots)]
        parts.append(f'<line class="leader {colour}" x1="{x + 5:.1f}" y1="{y:.1f}" x2="{right + 6}" y2="{end:.1f}"/>')
        name = titles[0] + (f" +{len(titles) - 1}" if len(titles) > 1 else "")
        parts.append(_text(right + 10, end + 4, f"{points[max(points)]:.3f} {name}", "start", colour))
    names = [f"{points[max(points)]:.3f} {', '.join(titles)}" for titles, points in drawn.items()]
    return _svg(height, parts, label) + _legend(names) + _joined(list(drawn))


def bars_by_group(series: Mapping[str, Mapping[str, Estimate]], label: str) -> str:
    """Draw a small panel a group, with one bar and its interval a system."""
    groups = list(dict.fromkeys(group for of in series.values() for group in of))
    panels: list[str] = []
    for group in groups:
        bars = {title: of[group] for title, of in series.items() if group in of}
        most = max(one.n for one in bars.values())
        scale = _PANEL - _NAMES - 52
        parts = [
            f'<line class="grid" x1="{_NAMES + scale * part:.1f}" x2="{_NAMES + scale * part:.1f}" '
            f'y1="4" y2="{_ROW * len(bars) + 4}"/>'
            for part in (0, 0.25, 0.5, 0.75, 1)
        ]
        for number, (title, one) in enumerate(bars.items()):
            y = 6 + _ROW * number
            colour = _colour(0 if number == 0 else 7)
            tip = escape(f"{title}, {group}: {one} of {one.n}")
            parts.append(_text(_NAMES - 8, y + 12, title, "end"))
            parts.append(
                f'<rect class="{colour}" x="{_NAMES}" y="{y + 2}" width="{max(1.0, scale * one.mean):.1f}" '
                f'height="12"><title>{tip}</title></rect>'
            )
            parts.append(_whisker(_NAMES + scale * one.low, _NAMES + scale * one.high, y + 8))
            parts.append(_text(_PANEL - 2, y + 12, f"{one.mean:.3f}", "end"))
        drawn = _svg(_ROW * len(bars) + 8, parts, f"{label}: {group}", width=_PANEL)
        panels.append(f"<figure><figcaption>{escape(group)} ({most})</figcaption>{drawn}</figure>")
    return f'<div class="panels">{"".join(panels)}</div>'


def difference_bars(differences: Mapping[str, Estimate], label: str) -> str:
    """Draw what each ablation loses or gains, from a line in the middle."""
    most = max([0.01, *(abs(edge) for one in differences.values() for edge in (one.low, one.high))])
    middle = _NAMES + (_WIDTH - _NAMES) / 2
    scale = ((_WIDTH - _NAMES) / 2 - 62) / most
    height = _ROW * len(differences) + 12
    parts = [f'<line class="axis" x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height}"/>']
    for number, (name, one) in enumerate(differences.items()):
        y = 8 + _ROW * number
        left, right = sorted((middle, middle + one.mean * scale))
        gains = one.mean > 0
        parts.append(_text(_NAMES - 8, y + 11, name, "end"))
        parts.append(
            f'<rect class="{_colour(2 if gains else 3)}" x="{left:.1f}" y="{y}" '
            f'width="{max(1.0, right - left):.1f}" height="13"><title>{escape(str(one))}</title></rect>'
        )
        parts.append(_whisker(middle + one.low * scale, middle + one.high * scale, y + 6.5))
        end = middle + (max(one.high, 0) if gains else min(one.low, 0)) * scale
        parts.append(_text(end + (6 if gains else -6), y + 11, f"{one.mean:+.3f}", "start" if gains else "end"))
    return _svg(height, parts, label)


def latency_bars(latencies: Mapping[str, tuple[float, float]], label: str) -> str:
    """Draw the median as a bar and the 99th percentile as a line behind it, on a logarithmic scale."""
    known = [value for pair in latencies.values() for value in pair if value > 0 and not math.isnan(value)]
    low = 10 ** math.floor(math.log10(min(known, default=0.1)))
    most = max(known, default=1.0)
    scale = (_WIDTH - _NAMES - 110) / max(1e-9, math.log10(most / low))
    bottom = _ROW * len(latencies) + 8
    parts: list[str] = []
    for power in range(round(math.log10(low)), math.floor(math.log10(most)) + 1):
        x = _NAMES + scale * (power - math.log10(low))
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 16, f"{10.0**power:g} ms", "middle"))
    for number, (name, (p50, p99)) in enumerate(latencies.items()):
        y = 6 + _ROW * number
        parts.append(_text(_NAMES - 8, y + 11, name, "end"))
        if math.isnan(p50):
            continue
        median, tail = (_NAMES + scale * math.log10(max(value, low) / low) for value in (p50, p99))
        colour = _colour(0 if number == 0 else 7)
        parts.append(
            f'<rect class="{colour}" x="{_NAMES}" y="{y}" width="{max(1.0, median - _NAMES):.1f}" height="13"/>'
        )
        parts.append(_whisker(median, tail, y + 6.5))
        parts.append(_text(tail + 6, y + 11, f"{p50:.1f} / {p99:.1f}", "start"))
    return _svg(bottom + 24, parts, label)


def points_by_size(series: Mapping[str, Sequence[tuple[int, float]]], label: str) -> str:
    """Draw the median latency of each store at its number of lines, those of one system joined."""
    sizes = [size for points in series.values() for size, _ in points]
    height, bottom, right = 320, 288, _WIDTH - _LABELS
    step = _round_step(max((ms for points in series.values() for _, ms in points), default=1.0) / 4)
    top = step * max(1, math.ceil(max(ms for points in series.values() for _, ms in points) / step))
    across = _round_step((max(sizes) - min(sizes)) / 4 or 1.0)
    first, last = across * math.floor(min(sizes) / across), across * math.ceil(max(sizes) / across)

    def place(size: float) -> float:
        return _LEFT + (right - _LEFT) * (size - first) / ((last - first) or 1)

    parts: list[str] = []
    for part in range(round(top / step) + 1):
        y = bottom - (bottom - _TOP) * part * step / top
        parts.append(_text(_LEFT - 6, y + 4, f"{part * step:g}", "end"))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
    marks = [first + part * across for part in range(round((last - first) / across) + 1)]
    parts += [_text(place(size), bottom + 20, f"{size:,.0f}", "middle") for size in marks]
    ends = _spread([bottom - (bottom - _TOP) * max(points)[1] / top for points in series.values()], bottom)
    for number, ((title, points), end) in enumerate(zip(series.items(), ends, strict=True)):
        colour = _colour(number)
        dots = [(place(size), bottom - (bottom - _TOP) * ms / top) for size, ms in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline class="line thin {colour}" points="{path}"/>')
        for (x, y), (size, ms) in zip(dots, sorted(points), strict=True):
            tip = escape(f"{title}: {size} lines, {ms:.1f} ms")
            parts.append(f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{tip}</title></circle>')
        x, y = dots[-1]
        parts.append(f'<line class="leader {colour}" x1="{x + 5:.1f}" y1="{y:.1f}" x2="{right + 6}" y2="{end:.1f}"/>')
        parts.append(_text(right + 10, end + 4, title, "start", colour))
    return _svg(height, parts, label) + _legend(list(series))


def _told_apart(series: Mapping[str, Mapping[int, float]]) -> dict[tuple[str, ...], Mapping[int, float]]:
    """Join the systems whose lines would lie on each other."""
    joined: list[tuple[list[str], Mapping[int, float]]] = []
    for title, points in series.items():
        for titles, known in joined:
            if known.keys() == points.keys() and all(abs(known[k] - points[k]) < _SAME for k in points):
                titles.append(title)
                break
        else:
            joined.append(([title], points))
    return {tuple(titles): points for titles, points in joined}


def _joined(drawn: Sequence[tuple[str, ...]]) -> str:
    notes = [f"{titles[0]} +{len(titles) - 1}: also {', '.join(titles[1:])}" for titles in drawn if len(titles) > 1]
    return f'<p class="note">{escape("; ".join(notes))} (nowhere {_SAME} apart).</p>' if notes else ""


def _legend(names: Sequence[str]) -> str:
    """Name the colours once more, for a screen so narrow that the names at the lines' ends are out of sight."""
    keys = "".join(f'<span class="{_colour(number)}">{escape(name)}</span>' for number, name in enumerate(names))
    return f'<p class="legend">{keys}</p>'


def _spread(wanted: Sequence[float], bottom: float) -> list[float]:
    """Move labels apart, as little as need be, and keep them within the plot."""
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    placed = dict[int, float]()
    above = -math.inf
    for number in order:
        above = placed[number] = max(wanted[number], above + _TEXT)
    below = bottom + _TEXT
    for number in reversed(order):
        below = placed[number] = min(placed[number], below - _TEXT)
    return [placed[number] for number in range(len(wanted))]


def _round_step(rough: float) -> float:
    """Give the next larger of 1, 2, 5, 10 and so on."""
    power = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(power * part for part in (1, 2, 5, 10) if power * part >= rough * 0.999)


def _share_axis(bottom: float, right: float) -> list[str]:
    parts: list[str] = []
    for part in range(6):
        y = _height(part / 5, bottom)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{part / 5:.1f}", "end"))
    return parts


def _whisker(x1: float, x2: float, y: float) -> str:
    return f'<line class="whisker" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}"/>'


def _height(value: float, bottom: float) -> float:
    return bottom - (bottom - _TOP) * min(1.0, max(0.0, value))


def _text(x: float, y: float, text: str, anchor: str, colour: str = "") -> str:
    kind = f' class="name {colour}"' if colour else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str], label: str, *, width: float = _WIDTH) -> str:
    return (
        f'<div class="scroll"><svg viewBox="0 0 {width:.0f} {height:.0f}" style="--wide: {width:.0f}px" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg></div>'
    )


def _colour(number: int) -> str:
    # The first is what the others are compared with: its colour comes once.
    return "c0" if number == 0 else f"c{1 + (number - 1) % (_COLOURS - 1)}"
