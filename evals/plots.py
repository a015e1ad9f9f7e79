"""Plots as SVG, drawn by hand: lines by k, bars with intervals, points by size. Colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from evals.summary import Estimate

_WIDTH = 760
_LEFT = 52
_RIGHT = 12
_TOP = 14
_COLOURS = 8  # the page's style has as many, `.c0` to `.c7`


def lines_by_k(series: Mapping[str, Mapping[int, float]], label: str) -> str:
    """Draw one line a system over the cutoffs, which stand at equal distances."""
    cutoffs = sorted({cutoff for points in series.values() for cutoff in points})
    height, bottom = 280, 240
    places = {k: _LEFT + (_WIDTH - _LEFT - _RIGHT) * (n + 0.5) / len(cutoffs) for n, k in enumerate(cutoffs)}
    parts = _share_axis(bottom)
    parts += [_text(places[k], bottom + 18, f"@{k}", "middle") for k in cutoffs]
    for number, points in enumerate(series.values()):
        colour = _colour(number)
        drawn = [(places[k], _height(points[k], bottom)) for k in cutoffs if k in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        parts.append(f'<polyline class="line {colour}" points="{path}"/>')
        parts += [
            f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{points[k]:.3f}</title></circle>'
            for k, (x, y) in zip((k for k in cutoffs if k in points), drawn, strict=True)
        ]
    return _svg(height, parts, label) + _legend(list(series))


def grouped_bars(series: Mapping[str, Mapping[str, Estimate]], label: str) -> str:
    """Draw a bar with its interval for each system in each group."""
    groups = list(dict.fromkeys(group for of in series.values() for group in of))
    height, bottom = 290, 240
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    bar = wide * 0.82 / max(1, len(series))
    parts = _share_axis(bottom)
    for place, group in enumerate(groups):
        start = _LEFT + wide * (place + 0.09)
        parts.append(_text(_LEFT + wide * (place + 0.5), bottom + 18, group, "middle"))
        for number, (title, of) in enumerate(series.items()):
            if group in of:
                parts += _bar(start + bar * number, bar, of[group], bottom, f"{title}, {group}", _colour(number))
    return _svg(height, parts, label) + _legend(list(series))


def difference_bars(differences: Mapping[str, Estimate], label: str) -> str:
    """Draw what each ablation loses or gains, from a line in the middle."""
    most = max([0.01, *(abs(edge) for one in differences.values() for edge in (one.low, one.high))])
    name_width, row = 210, 26
    middle = name_width + (_WIDTH - name_width - _RIGHT) / 2
    scale = (_WIDTH - name_width - _RIGHT - 120) / 2 / most
    height = row * len(differences) + 12
    parts = [f'<line class="axis" x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height}"/>']
    for number, (name, one) in enumerate(differences.items()):
        y = 8 + row * number
        left, right = sorted((middle, middle + one.mean * scale))
        parts.append(_text(name_width - 8, y + 12, name, "end"))
        parts.append(f'<rect class="c0" x="{left:.1f}" y="{y}" width="{max(1.0, right - left):.1f}" height="14"/>')
        parts.append(_whisker(middle + one.low * scale, middle + one.high * scale, y + 7))
        end = middle + (one.high if one.mean > 0 else one.low) * scale
        parts.append(
            _text(end + (6 if one.mean > 0 else -6), y + 12, f"{one.mean:+.3f}", "start" if one.mean > 0 else "end")
        )
    return _svg(height, parts, label)


def latency_bars(latencies: Mapping[str, tuple[float, float]], label: str) -> str:
    """Draw the median as a bar and the 99th percentile as a line behind it, on a logarithmic scale."""
    name_width, row = 210, 26
    known = [value for pair in latencies.values() for value in pair if value > 0 and not math.isnan(value)]
    most, least = max(known, default=1.0), min(known, default=0.1)
    low = 10 ** math.floor(math.log10(least))
    scale = (_WIDTH - name_width - 120) / max(1e-9, math.log10(most / low))
    parts: list[str] = []
    for number, (name, (p50, p99)) in enumerate(latencies.items()):
        y = 8 + row * number
        parts.append(_text(name_width - 8, y + 12, name, "end"))
        if math.isnan(p50):
            continue
        median, tail = (name_width + scale * math.log10(max(value, low) / low) for value in (p50, p99))
        parts.append(
            f'<rect class="c0" x="{name_width}" y="{y}" width="{max(1.0, median - name_width):.1f}" height="14"/>'
        )
        parts.append(_whisker(median, tail, y + 7))
        parts.append(_text(tail + 6, y + 12, f"{p50:.1f} / {p99:.1f} ms", "start"))
    return _svg(row * len(latencies) + 12, parts, label)


def points_by_size(series: Mapping[str, Sequence[tuple[int, float]]], label: str) -> str:
    """Draw the median latency of each store at its number of lines."""
    sizes = [size for points in series.values() for size, _ in points]
    times = [ms for points in series.values() for _, ms in points]
    height, bottom = 270, 230
    first, last, top = min(sizes), max(sizes), max(times) * 1.1 or 1.0
    parts = [f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>']
    for part in range(5):
        y = bottom - (bottom - _TOP) * part / 4
        parts.append(_text(_LEFT - 6, y + 4, f"{top * part / 4:.3g}", "end"))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for number, (title, points) in enumerate(series.items()):
        for size, ms in points:
            x = _LEFT + (_WIDTH - _LEFT - _RIGHT - 20) * ((size - first) / (last - first or 1)) + 10
            y = bottom - (bottom - _TOP) * ms / top
            tip = escape(f"{title}: {size} lines, {ms:.1f} ms")
            parts.append(
                f'<circle class="{_colour(number)}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{tip}</title></circle>'
            )
    parts.append(_text(_LEFT, bottom + 18, f"{first} lines", "start"))
    parts.append(_text(_WIDTH - _RIGHT, bottom + 18, f"{last} lines", "end"))
    return _svg(height, parts, label) + _legend(list(series))


def _share_axis(bottom: float) -> list[str]:
    parts: list[str] = []
    for part in range(6):
        y = _height(part / 5, bottom)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{part / 5:.1f}", "end"))
    return parts


def _bar(x: float, wide: float, one: Estimate, bottom: float, name: str, colour: str) -> list[str]:
    top = _height(one.mean, bottom)
    middle = x + wide / 2
    tip = escape(f"{name}: {one} of {one.n}")
    return [
        f'<rect class="{colour}" x="{x:.1f}" y="{top:.1f}" width="{wide * 0.9:.1f}" height="{bottom - top:.1f}">'
        f"<title>{tip}</title></rect>",
        f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" '
        f'y1="{_height(one.low, bottom):.1f}" y2="{_height(one.high, bottom):.1f}"/>',
    ]


def _whisker(x1: float, x2: float, y: float) -> str:
    return f'<line class="whisker" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}"/>'


def _height(value: float, bottom: float) -> float:
    return bottom - (bottom - _TOP) * min(1.0, max(0.0, value))


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )


def _legend(titles: Sequence[str]) -> str:
    keys = "".join(
        f'<span><i class="{_colour(number)}"></i>{escape(title)}</span>' for number, title in enumerate(titles)
    )
    return f'<p class="legend">{keys}</p>'


def _colour(number: int) -> str:
    return f"c{number % _COLOURS}"
