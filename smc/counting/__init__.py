"""Exact costs of a program under every profile, counted without peer, secrets and cryptography."""

from smc.counting.engines import Answers, CountingEngine, make_counting_engine
from smc.counting.forecast import Forecast, Program, forecast, forecasts
from smc.counting.session import CountingSession

__all__ = [
    "Answers",
    "CountingEngine",
    "CountingSession",
    "Forecast",
    "Program",
    "forecast",
    "forecasts",
    "make_counting_engine",
]
