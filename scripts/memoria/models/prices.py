"""Prices: what Claude models cost by token, for an estimate before work begins; what was paid stands in the ledger.

Dollars for a million tokens, of the dearest generation since 4.5 that the client's alias may stand for; newer ones cost
less (Haiku 5.5 from $0.10, Sonnet 5.5 $2, Opus 5.5 $4 of input). Source: the model overview and pricing pages at
https://platform.claude.com/docs/en/about-claude, read on 2026-11-21.
"""

from __future__ import annotations

from dataclasses import dataclass

from memoria.models import chain

READ_ON = "2026-11-21"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens in and out."""

    input_usd: float
    output_usd: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Dollars for so many tokens."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


PRICES = {"haiku": Price(1.0, 5.0), "sonnet": Price(3.0, 15.0), "opus": Price(5.0, 25.0)}


def of_model(name: str) -> Price | None:
    """Return the price of a model by the name it is booked under: nothing for a free one, None when it is not known."""
    known = chain.BACKENDS.get(chain.backend(name))
    if known and known.is_free:
        return Price(0.0, 0.0)
    return next((price for alias, price in PRICES.items() if name.startswith("claude:") and alias in name), None)
