"""The networks: a BERT encoder, our model's two heads on it, and a cross-encoder's one."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.weights import Arrays

WIDTH = 384
HEADS = 12
WIDE = 1536
WORDS = 30522
POSITIONS = 512
NORM_EPSILON = 1e-12  # BERT's


class Layer(nn.Module):
    """One layer of a BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.mixed_norm = nn.LayerNorm(WIDTH, NORM_EPSILON)
        self.widen = nn.Linear(WIDTH, WIDE)
        self.narrow = nn.Linear(WIDE, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, NORM_EPSILON)

    def forward(self, states: Tensor, mask: Tensor, drop: float) -> Tensor:
        count, length, _ = states.shape
        query, key, value = self.qkv(states).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = self.mix(mixed.transpose(1, 2).reshape(count, length, WIDTH))
        states = self.mixed_norm(states + F.dropout(mixed, drop, self.training))
        narrowed = self.narrow(F.gelu(self.widen(states)))
        return self.norm(states + F.dropout(narrowed, drop, self.training))


class Encoder(nn.Module):
    """Token ids to token states."""

    def __init__(self, layers: int, drop: float = 0.0) -> None:
        super().__init__()
        self.drop = drop
        self.embed_word = nn.Embedding(WORDS, WIDTH)
        self.embed_position = nn.Embedding(POSITIONS, WIDTH)
        self.embed_token_type = nn.Embedding(2, WIDTH)
        self.embed_norm = nn.LayerNorm(WIDTH, NORM_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids: Tensor, there: Tensor, kinds: Tensor | None = None) -> Tensor:
        """Give the states of a padded batch; `there` marks what is no padding."""
        return self.every(ids, there, kinds)[-1]

    def every(self, ids: Tensor, there: Tensor, kinds: Tensor | None = None) -> list[Tensor]:
        """Give the states behind each layer."""
        kind = self.embed_token_type.weight[0] if kinds is None else self.embed_token_type(kinds)
        states = self.embed_word(ids) + self.embed_position.weight[: ids.shape[1]] + kind
        states = F.dropout(self.embed_norm(states), self.drop, self.training)
        mask = there[:, None, None, :]
        found: list[Tensor] = []
        for layer in self.layers:
            states = layer(states, mask, self.drop)
            found.append(states)
        return found


class TwoHeads(nn.Module):
    """Our model: token vectors for MaxSim and one pooled vector, from one pass."""

    def __init__(self, layers: int, token_dims: int, drop: float = 0.0, *, weighted: bool = True) -> None:
        super().__init__()
        self.encoder = Encoder(layers, drop)
        self.to_tokens = nn.Linear(WIDTH, token_dims, bias=False)
        self.to_pooled = nn.Linear(WIDTH, WIDTH)
        self.to_weight = nn.Linear(WIDTH, 1) if weighted else None
        if self.to_weight is not None:
            nn.init.zeros_(self.to_weight.weight)
            nn.init.zeros_(self.to_weight.bias)

    def forward(self, ids: Tensor, there: Tensor, *, question: bool) -> tuple[Tensor, Tensor]:
        """Give token vectors (zero where padding is) and the pooled vector.

        A passage's token vectors have unit length. A question's have the length that the token counts for, mostly 1.
        """
        return self.heads(self.encoder(ids, there), there, question=question)

    def heads(self, states: Tensor, there: Tensor, *, question: bool) -> tuple[Tensor, Tensor]:
        """Do what follows the encoder."""
        tokens = F.normalize(self.to_tokens(states).float(), dim=-1) * there[..., None]
        count = there.sum(1, keepdim=True)
        mean = (states.float() * there[..., None]).sum(1) / count
        if question and self.to_weight is not None:
            weight = torch.sigmoid(self.to_weight(states).float()[..., 0]) * there
            tokens = tokens * (weight / weight.sum(1, keepdim=True) * count)[..., None]
        return tokens, self.to_pooled(mean).float()


class CrossEncoder(nn.Module):
    """A question and a passage together to one number."""

    def __init__(self, layers: int, drop: float = 0.0) -> None:
        super().__init__()
        self.encoder = Encoder(layers, drop)
        self.pool = nn.Linear(WIDTH, WIDTH)
        self.classifier = nn.Linear(WIDTH, 1)

    def forward(self, ids: Tensor, there: Tensor, kinds: Tensor) -> Tensor:
        states = self.encoder(ids, there, kinds)
        return self.classifier(torch.tanh(self.pool(states[:, 0]))).float()[:, 0]


def load_encoder(encoder: nn.Module, arrays: Arrays) -> None:
    """Put arrays into a module; every parameter must be there, what it does not have is left out."""
    own = encoder.state_dict()
    # A cross-encoder holds an encoder; the arrays of both have the same names.
    given = {name: np.array(arrays[name.removeprefix("encoder.")]) for name in own}
    encoder.load_state_dict({name: torch.from_numpy(value) for name, value in given.items()})
