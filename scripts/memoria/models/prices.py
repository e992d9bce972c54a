"""Prices: what Claude models cost per token, for estimates before work begins; the ledger records what was paid.

Prices are dollars per million tokens, of the most expensive generation since 4.5 that the client's alias may mean;
newer ones cost less (input: Haiku 5.5 from $0.10, Sonnet 5.5 $2, Opus 5.5 $4). Source: the model overview and pricing
pages at https://platform.claude.com/docs/en/about-claude, read on 2026-11-21.
"""

from __future__ import annotations

from dataclasses import dataclass

from memoria.models import chain

READ_ON = "2026-11-21"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens in and out."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the dollars for this number of tokens."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


PRICES = {"haiku": Price(1.0, 5.0), "sonnet": Price(3.0, 15.0), "opus": Price(5.0, 25.0)}


def of_model(name: str) -> Price | None:
    """Return the price of a model by its booked name: zero for a free one, None when it is unknown."""
    known = chain.BACKENDS.get(chain.backend(name))
    if known and known.is_free:
        return Price(0.0, 0.0)
    return next((price for alias, price in PRICES.items() if name.startswith("claude:") and alias in name), None)
