"""Statements and answers on a page."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.cli.page import Page, Piece, Styled
from recollect.core.artifacts import BY_HAND, Artifact, History, Status
from recollect.core.records import Record
from recollect.core.values import Answer

_NOTHING = Styled("Nothing found.", "dim")


def answer(page: Page, given: Answer) -> None:
    """Show an answer, and how sure it is; or that there is none."""
    if not given.answered:
        page.line(Styled("The memory holds no answer.", "dim"))
    else:
        page.text(given.text)
    if page.for_people:
        page.gap()
        for citation in given.citations:
            page.line(Styled(f"{citation.mark} {citation.event_id}", "dim"))
        sure = "" if given.confidence is None else f"{given.confidence:.0%} confidence"
        by = "quoted" if given.written_by == "quote" else f"written by {given.written_by}"
        page.line(Styled(", ".join(part for part in (sure, by if given.answered else "") if part), "dim"))


def artifacts(page: Page, listed: Sequence[Artifact]) -> None:
    """List statements, each with its quote."""
    if not listed and page.for_people:
        page.line(_NOTHING)
    for one in listed:
        page.item("", _heading(one), _quoted(one))


def history(page: Page, told: History) -> None:
    """Tell the versions of a statement, the oldest first, and why each ended."""
    for number, version in enumerate(told.versions, 1):
        page.item(str(number), _heading(version.artifact), _quoted(version.artifact))
        for change in version.changes:
            page.line(Styled(f"     {change.at:%Y-%m-%d}  {change.action}: {change.reason}", "dim"))


def records(page: Page, listed: Sequence[Record]) -> None:
    """List edits."""
    if not listed and page.for_people:
        page.line(_NOTHING)
    for one in listed:
        said = [f"{name} {value}" for name, value in one.details.items()]
        page.item(
            "",
            [
                Styled(one.kind.value, "name"),
                Styled(f"by {one.by}", "strong"),
                Styled(f"{one.at:%Y-%m-%d %H:%M}", "number"),
                Styled(one.id, "dim"),
            ],
            [Styled(", ".join([*([one.text] if one.text else []), *said]), "dim")],
        )


def _heading(artifact: Artifact) -> list[Piece]:
    since = f"since {artifact.valid_from:%Y-%m-%d}" if artifact.valid_from else ""
    until = f"until {artifact.valid_to:%Y-%m-%d}" if artifact.valid_to else ""
    status = "" if artifact.status is Status.CURRENT else artifact.status.value
    return [
        Styled(artifact.kind.value, "name"),
        Styled(artifact.content, "strong"),
        Styled(" ".join(part for part in (since, until) if part), "number"),
        Styled(status, "bad" if status else "dim"),
        Styled(artifact.id, "dim"),
    ]


def _quoted(artifact: Artifact) -> list[Piece]:
    if artifact.extractor == BY_HAND:
        return [Styled(f"corrected by {artifact.speaker or 'unknown'}", "dim")]
    who = f" ({artifact.speaker})" if artifact.speaker else ""
    return [Styled(f"“{artifact.quote}”{who}", "dim")]
