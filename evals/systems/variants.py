"""Variants of Everyword by name: a recipe, less some stages, with other numbers, with a third stage.

    everyword                      what `Memory.open` gives
    everyword:words                that recipe
    everyword:-late                the default without late interaction; `everyword:pooled-words` likewise
    everyword:+length=0.02         a field of the recipe with another value; `+neighbours.seeds=40` within a part of it
    everyword:+cross-encoder       with the bundled reranker as third stage; `+onnx`, `+rerank-endpoint`, `+llm` too
                                   (third.py), and `+reranker=onnx:FOLDER` or another

The colon may be left out before a sign. `--set FIELD=VALUE` of the command line adds `+FIELD=VALUE` to the name.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from evals.errors import EvalError
from evals.systems.third import FORMS
from everyword import Memory
from everyword.retrieval.config import RECIPES, SearchConfig

NAME = "everyword"
RERANKER = "reranker"
_STAGES = {"late": "rerank_depth"}  # what a stage is called, where its field has another name
# Fields of a recipe that leave no row in the table of ablations, and why.
NO_STAGES = {
    "name": "it names the recipe",
    "rrf_k": "a number of the fusion, without which there is no ranking",
    "about_depth": "a number of `about`",
    "unread": "it works where the model can't read the question, and these are English",
    "long_event": "a number of `length`",
    "auto_k": "it works where k is left to the question; here each question is asked for as many lines",
    "reranker_depth": "a number of the third stage, which has systems of its own: `everyword:+cross-encoder` ...",
    "reranker_weight": "likewise",
}
_NOT_IN_A_FILE_NAME = re.compile(r"[^\w.+=-]+")


class Variant(Struct, frozen=True, kw_only=True):
    """What a memory is opened with."""

    recipe: SearchConfig
    reranker: str | None = None


def is_ours(system: str) -> bool:
    """Tell whether a name is Everyword's own."""
    return system.startswith(NAME) and system[len(NAME) :][:1] in ("", ":", "+", "-")


def variant_of(system: str) -> Variant:
    """Read the name of a system."""
    base, *changes = system.removeprefix(NAME).removeprefix(":").split("+")
    name, *left_out = base.split("-")
    recipe = RECIPES.get(name) if name else _default()
    if recipe is None:
        raise EvalError(f"There is no recipe {name!r}. Known: {', '.join(RECIPES)}.")
    for stage in left_out:
        recipe = _without(recipe, stage)
    variant = Variant(recipe=recipe)
    for change in changes:
        variant = _changed(variant, change)
    return variant


def stages(recipe: SearchConfig) -> list[str]:
    """Name what can be left out of a recipe: parts that are there, and what is off unless a recipe says otherwise."""
    named = {field: stage for stage, field in _STAGES.items()}
    return [
        named.get(one.name, one.name)
        for one in fields(recipe)
        if one.name not in NO_STAGES
        and (isinstance(given := getattr(recipe, one.name), Struct) or (given and not one.default))
    ]


def all_ablations() -> list[str]:
    """Name the shipped default less each of its stages."""
    return [f"{NAME}:-{stage}" for stage in stages(_default())]


def file_name(task: str, system: str) -> str:
    """Name the file of a run."""
    return f"{task}.{_NOT_IN_A_FILE_NAME.sub('_', system)}.jsonl"


def _default() -> SearchConfig:
    return inspect.signature(Memory.open).parameters["recipe"].default


def _without(recipe: SearchConfig, stage: str) -> SearchConfig:
    """Switch a stage off: an arm becomes None, a depth or a weight 0."""
    field = _STAGES.get(stage, stage)
    known = {one.name for one in fields(recipe)} - {"name"}
    if field not in known:
        raise EvalError(f"A recipe has no stage {stage!r}. Known: {', '.join(sorted(known | set(_STAGES)))}.")
    given = getattr(recipe, field)
    off = type(given)(0) if isinstance(given, bool | int | float) else None
    return replace(recipe, name=f"{recipe.name}-{stage}", **{field: off})


def _changed(variant: Variant, change: str) -> Variant:
    field, has_value, value = change.partition("=")
    if field in FORMS and not has_value:
        return replace(variant, reranker=field)
    if not has_value:
        raise EvalError(f"{change!r} says nothing to set: write FIELD=VALUE, or {', '.join(FORMS)}.")
    if field == RERANKER:
        return replace(variant, reranker=value)
    recipe = _with(variant.recipe, field.split("."), value)
    return replace(variant, recipe=replace(recipe, name=f"{variant.recipe.name}+{change}"))


def _with(part: Any, path: list[str], value: str) -> Any:
    """Set a field of a recipe, or of a part of it, to what is written."""
    field, *rest = path
    if not isinstance(part, Struct) or field not in {one.name for one in fields(part)} - {"name"}:
        known = (
            ", ".join(one.name for one in fields(part) if one.name != "name")
            if isinstance(part, Struct)
            else "no field"
        )
        raise EvalError(f"There is no field {field!r} to set here: {known}.")
    given = getattr(part, field)
    return replace(part, **{field: _with(given, rest, value) if rest else _read(given, value)})


def _read(given: Any, value: str) -> Any:
    if value == "none":
        return None
    try:
        if isinstance(given, bool):
            return bool(int(value))
        if isinstance(given, tuple):
            return tuple(float(one) for one in value.split(","))
        return type(given)(value) if isinstance(given, int | float) else float(value)
    except ValueError:
        raise EvalError(f"{value!r} can't be set: numbers, several with commas, or none.") from None
