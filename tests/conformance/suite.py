"""The whole suite: a backend subclasses it and says how to open, share, damage and copy its stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.attention import AttentionConformance
from conformance.graph import GraphConformance
from conformance.imports import ImportsConformance
from conformance.layers import LayersConformance
from conformance.log import LogConformance
from conformance.readings import ReadingsConformance
from conformance.service import ServiceConformance
from conformance.sources import SourcesConformance
from conformance.statements import StatementsConformance
from conformance.upkeep import UpkeepConformance
from conformance.vectors import VectorsConformance
from conformance.words import WordsConformance
from conformance.written import WrittenConformance
from everyword.storage.protocol import Store


class StoreConformance(
    LogConformance,
    SourcesConformance,
    WordsConformance,
    VectorsConformance,
    StatementsConformance,
    ImportsConformance,
    ServiceConformance,
    AttentionConformance,
    GraphConformance,
    ReadingsConformance,
    WrittenConformance,
    LayersConformance,
    UpkeepConformance,
):
    """Everything a store must do. Written against store/protocol.py alone."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """Give an empty store."""
        opened = self.open(tmp_path)
        yield opened
        opened.close()

    def open(self, folder: Path) -> Store:
        """Open an empty store; `folder` is there for those that live in files."""
        raise NotImplementedError

    def another(self, store: Store) -> Store:
        """Open a second handle on the same store, as another process would; skip where there can't be one."""
        raise NotImplementedError

    def open_backup(self, path: Path) -> Store:
        """Open what `backup` wrote."""
        raise NotImplementedError

    def seal_at(self, monkeypatch: pytest.MonkeyPatch, events: int) -> None:
        """Seal tails at so many events, so that a few are enough to see it."""
        raise NotImplementedError

    def damage(self, store: Store, damage: str) -> None:
        """Do one of upkeep.DAMAGES behind the store's back."""
        raise NotImplementedError
