"""What the two teachers say of each question's candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.data import Flat, by_length
from training.scoring import HALF, encode_all

PAIR_TOKENS = 200_000  # of a padded batch of question and passage


@torch.no_grad()
def teacher_scores(bench: Any, name: str) -> Tensor:
    """Give the teacher's mean MaxSim for each question's candidates."""
    if name in bench.teacher:
        return bench.teacher[name]
    assert bench.candidates is not None
    model = bench.models[name].eval()
    every = np.unique(bench.candidates)
    vectors, starts, _ = encode_all(model, bench.plain(), every, bench.punctuation, 0)
    place = np.searchsorted(every, bench.candidates)
    asked, a_starts, _ = encode_all(model, bench.questions, bench.asked, None, 0)
    lengths = np.minimum(np.diff(starts), 160)
    begins = torch.from_numpy(starts[:-1]).to(bench.device)
    counts = torch.from_numpy(lengths).to(bench.device)
    result = torch.empty(bench.candidates.shape, device=bench.device)
    chunk = 256
    q_counts = np.diff(a_starts)
    for start in range(0, len(place), chunk):
        here = torch.from_numpy(place[start : start + chunk]).to(bench.device)
        longest = int(counts[here].max())
        at = begins[here][..., None] + torch.arange(longest, device=bench.device)
        there = torch.arange(longest, device=bench.device) < counts[here][..., None]
        q_at = torch.from_numpy(a_starts[start : start + chunk]).to(bench.device)[:, None]
        q_longest = int(q_counts[start : start + chunk].max())
        q_at = q_at[: len(here)] + torch.arange(q_longest, device=bench.device)
        q_there = (
            torch.arange(q_longest, device=bench.device)
            < torch.from_numpy(q_counts[start : start + chunk]).to(bench.device)[:, None]
        )
        q = asked[q_at.clamp(max=len(asked) - 1)] * q_there[..., None]
        p = vectors[at.clamp(max=len(vectors) - 1)]
        similar = torch.einsum("qid,qctd->qcit", q, p).masked_fill(~there[:, :, None, :], -4.0)
        best = similar.amax(-1).float() * q_there[:, None, :]
        result[start : start + chunk] = best.sum(-1) / q_there.sum(-1)[:, None]
    bench.teacher[name] = result
    return result


@torch.no_grad()
def cross_scores(bench: Any, cross: Any, asked: Any, candidates: Any) -> Tensor:
    """Let the cross-encoder score each question with each of its candidates."""
    questions, lines = bench.questions, bench.plain()
    pairs_q = np.repeat(asked, candidates.shape[1])
    pairs_l = candidates.ravel()
    lengths = questions.lengths[pairs_q] + lines.lengths[pairs_l] - 3
    result = torch.empty(len(pairs_q), device=bench.device)
    cross.eval()
    for batch in by_length(lengths, PAIR_TOKENS):
        ids, there, kinds = pair_ids(questions, lines, pairs_q[batch], pairs_l[batch])
        with torch.autocast(bench.device, torch.bfloat16, enabled=HALF):
            result[torch.from_numpy(batch).to(bench.device)] = cross(ids, there, kinds)
    return result.view(candidates.shape)


def pair_ids(questions: Flat, lines: Flat, pairs_q: Any, pairs_l: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Write pairs as [CLS] question [SEP] passage [SEP], without the markers of the late-interaction models."""
    device = lines.ids.device
    q, p = torch.from_numpy(pairs_q).to(device), torch.from_numpy(pairs_l).to(device)
    q_start, q_end, p_start, p_end = questions.starts[q], questions.starts[q + 1], lines.starts[p], lines.starts[p + 1]
    q_count = q_end - q_start - 1  # with [CLS] and [SEP], without the marker
    length = q_count + p_end - p_start - 2
    at = torch.arange(int(-(-int(length.max()) // 8) * 8), device=device)[None]
    first = at < q_count[:, None]
    from_q = questions.ids[(q_start[:, None] + at + (at > 0)).clamp(max=len(questions.ids) - 1)]
    from_p = lines.ids[(p_start[:, None] + 2 + at - q_count[:, None]).clamp(min=0, max=len(lines.ids) - 1)]
    there = at < length[:, None]
    return torch.where(first, from_q, from_p) * there, there, (~first & there).int()
