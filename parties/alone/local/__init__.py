"""Local differential privacy: answers randomised on a person's device and decoded by the collector."""

from parties.alone.local.mechanism import Estimates, Mechanism

__all__ = ["Estimates", "Mechanism"]
