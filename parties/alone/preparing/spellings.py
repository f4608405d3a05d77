"""Spellings of days, numbers and missing values in raw tables, each with an example and its value.

The profile of a raw table uses these forms and marks, and a test reads every example.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from parties.sources.settings import day_and_clock


class Spelling(NamedTuple):
    """An example: a text, its value, and the column settings for this spelling."""

    text: str
    value: str
    settings: dict[str, Any]


DAYS = tuple(
    Spelling(text, value, {"dates": form})
    for text, value, form in (
        ("2024-04-03", "2024-04-03", "%Y-%m-%d"),
        ("3.4.2024", "2024-04-03", "%d.%m.%Y"),
        ("03/04/2024", "2024-04-03", "%d/%m/%Y"),
        ("04/03/2024", "2024-04-03", "%m/%d/%Y"),
        ("03-04-2024", "2024-04-03", "%d-%m-%Y"),
        ("04-03-2024", "2024-04-03", "%m-%d-%Y"),
        ("2024/04/03", "2024-04-03", "%Y/%m/%d"),
        ("2024.04.03", "2024-04-03", "%Y.%m.%d"),
        ("20240403", "2024-04-03", "%Y%m%d"),
        ("03.04.24", "2024-04-03", "%d.%m.%y"),
        ("03/04/24", "2024-04-03", "%d/%m/%y"),
        ("04/03/24", "2024-04-03", "%m/%d/%y"),
        ("24/04/03", "2024-04-03", "%y/%m/%d"),
        ("03-04-24", "2024-04-03", "%d-%m-%y"),
        ("04-03-24", "2024-04-03", "%m-%d-%y"),
        ("24-04-03", "2024-04-03", "%y-%m-%d"),
        ("03APR2024", "2024-04-03", "%d%b%Y"),
        ("3-Apr-2024", "2024-04-03", "%d-%b-%Y"),
        ("3 apr 2024", "2024-04-03", "%d %b %Y"),
        ("03APR24", "2024-04-03", "%d%b%y"),
        ("03-Apr-24", "2024-04-03", "%d-%b-%y"),
        ("3 Apr 24", "2024-04-03", "%d %b %y"),
        ("Apr 3, 2024", "2024-04-03", "%b %d, %Y"),
        ("3 April 2024", "2024-04-03", "%d %B %Y"),
        ("3-April-2024", "2024-04-03", "%d-%B-%Y"),
        ("April 3, 2024", "2024-04-03", "%B %d, %Y"),
        ("3. März 2024", "2024-03-03", "%d. %B %Y"),
        ("24. Dez. 2023", "2023-12-24", "%d. %B %Y"),
        ("12 août 2024", "2024-08-12", "%d %b %Y"),
        ("1 ottobre 2024", "2024-10-01", "%d %b %Y"),
        ("03-Okt-2024", "2024-10-03", "%d-%b-%Y"),
        ("2024-04-03 23:30", "2024-04-03", "%Y-%m-%d %H:%M"),
        ("2024-04-03T23:30", "2024-04-03", "%Y-%m-%dT%H:%M"),
        ("2024-04-03 23:30:00", "2024-04-03", "%Y-%m-%d %H:%M:%S"),
        ("2024-04-03T23:30:00", "2024-04-03", "%Y-%m-%dT%H:%M:%S"),
        ("2024-04-03 23:30:00.123000", "2024-04-03", "%Y-%m-%d %H:%M:%S.%f"),
        ("2024-04-03T23:30:00.5", "2024-04-03", "%Y-%m-%dT%H:%M:%S.%f"),
        ("2024-04-03 23:30Z", "2024-04-03", "%Y-%m-%d %H:%M%z"),
        ("2024-04-03T23:30+01:00", "2024-04-03", "%Y-%m-%dT%H:%M%z"),
        ("2024-04-03T23:30:00Z", "2024-04-03", "%Y-%m-%dT%H:%M:%S%z"),
        ("2024-04-03 23:30:00 CET", "2024-04-03", "%Y-%m-%d %H:%M:%S%z"),
        ("2024-04-03T23:30:00+02:00[Europe/Zurich]", "2024-04-03", "%Y-%m-%dT%H:%M:%S%z"),
        ("2024-04-03T23:30:00+02:00", "2024-04-03", "%Y-%m-%dT%H:%M:%S%z"),
        ("2024-04-03 23:30:00-0330", "2024-04-03", "%Y-%m-%d %H:%M:%S%z"),
        ("2024-04-03T23:30:00.123Z", "2024-04-03", "%Y-%m-%dT%H:%M:%S.%f%z"),
        ("2024-04-03 23:30:00.123+00", "2024-04-03", "%Y-%m-%d %H:%M:%S.%f%z"),
        ("04/03/2024 11:30 am", "2024-04-03", "%m/%d/%Y %I:%M %p"),
        ("04/03/2024 11:30:00 PM", "2024-04-03", "%m/%d/%Y %I:%M:%S %p"),
        ("04/03/2024 11:30PM", "2024-04-03", "%m/%d/%Y %I:%M%p"),
    )
)
NUMBERS = tuple(
    Spelling(text, value, settings)
    for text, value, settings in (
        ("1234.5", "1234.5", {}),
        ("-1234.5", "-1234.5", {}),
        ("+7", "7", {}),
        (".5", "0.5", {}),
        ("1e3", "1000", {}),
        ("1,234.5", "1234.5", {"thousands": ","}),
        ("1,234,567", "1234567", {"thousands": ","}),
        ("1234,5", "1234.5", {"decimal": ","}),
        ("1.234,5", "1234.5", {"decimal": ",", "thousands": "."}),
        ("1.234.567", "1234567", {"decimal": ",", "thousands": "."}),
        ("1 234,5", "1234.5", {"decimal": ",", "thousands": " "}),
        ("1\u00a0234,5", "1234.5", {"decimal": ",", "thousands": "\u00a0"}),
        ("1\u202f234,5", "1234.5", {"decimal": ",", "thousands": "\u202f"}),
        ("1\u2009234,5", "1234.5", {"decimal": ",", "thousands": "\u2009"}),
        ("1,00,000", "100000", {"thousands": ","}),
        ("1'234.5", "1234.5", {"thousands": "'"}),
        ("1\u2019234.5", "1234.5", {"thousands": "\u2019"}),
        ("(722.69)", "-722.69", {"negative": "()"}),
        ("\u2212722.69", "-722.69", {"negative": "\u2212"}),
        ("\u2013722.69", "-722.69", {"negative": "\u2013"}),
        ("722.69-", "-722.69", {"negative": "behind"}),
        ("12.5%", "12.5", {"drop": ["%"]}),
        ("\u20ac 12.50", "12.5", {"drop": ["\u20ac"]}),
        ("12,50 \u20ac", "12.5", {"decimal": ",", "drop": ["\u20ac"]}),
        ("$1,234", "1234", {"thousands": ",", "drop": ["$"]}),
        ("CHF 1'234", "1234", {"thousands": "'", "drop": ["CHF"]}),
        ("($5.00)", "-5", {"negative": "()", "drop": ["$"]}),
        ("R$ 1.234,50", "1234.5", {"decimal": ",", "thousands": ".", "drop": ["R$"]}),
        ("Fr. 12.50", "12.5", {"drop": ["Fr."]}),
        ("1.234,-", "1234", {"decimal": ",", "thousands": ".", "drop": [",-"]}),
        ("12.\u2013", "12", {"drop": [".\u2013"]}),
        ("80.5 kg", "80.5", {"drop": ["kg"]}),
        ("77mg/dl", "77", {"drop": ["mg/dl"]}),
        ("38.5 \u00b0C", "38.5", {"drop": ["\u00b0C"]}),
        ("12 \u2030", "12", {"drop": ["\u2030"]}),
    )
)
# Texts that mean no value among numbers, days and times. In a column of categories they are values.
NO_VALUE = (
    *("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "--", ".", "k.A.", "n.a.", "N.A."),
    *("0000-00-00", "0000-00-00 00:00:00", "00.00.0000", "00/00/0000", "#VALUE!", "#DIV/0!", "NaT", "<NA>"),
)
DATES = tuple(dict.fromkeys(day_and_clock(day.settings["dates"])[0].rstrip(" T") for day in DAYS))
CLOCKS = tuple(  # forms of the time of day, with the text between it and the day
    dict.fromkeys(form[len(day_and_clock(form)[0].rstrip(" T")) :] for form in (day.settings["dates"] for day in DAYS))
)
