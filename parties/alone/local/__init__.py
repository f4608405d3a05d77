"""Answers that are private before they leave: randomised on a person's device, decoded by whoever collects them."""

from parties.alone.local.mechanism import Estimates, Mechanism

__all__ = ["Estimates", "Mechanism"]
