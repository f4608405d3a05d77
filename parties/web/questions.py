"""The questions of a proposal in words and groups, the settings that each needs, and the meaning of defaults."""

from __future__ import annotations

from collections.abc import Iterator

from parties.jobs import kinds
from parties.jobs.settings import Parameter

GROUPS: dict[str, dict[str, str]] = {
    "Count and average": {
        "release count": "How many rows meet a condition?",
        "release histogram": "How many rows have each value of a column?",
        "release table": "How many rows have each combination of values?",
        "release sum": "What do the numbers of a column add up to?",
        "release mean": "What is the average of a column?",
        "release deviation": "How much does a column vary?",
        "release correlation": "How do two columns of numbers go together?",
        "release median": "What is the median of a column?",
        "release top": "Which values of a column are the most frequent?",
        "release choose": "Which of some candidates is best, by scores of a column's values?",
        "release triangles": "How many triangles does the network of both have?",
        "variance": "Is the variance of a column above a bound?",
        "evaluate drift": "Do our tables differ in some columns?",
        "survive curve": "How long do rows survive?",
        "survive compare": "Do two groups survive differently?",
        "quantile": "Below which number lies a share of the rows?",
        "test chi2": "Do two columns depend on each other?",
        "test proportions": "Does a share differ between two groups?",
        "test trend": "Does a share rise or fall over groups?",
        "test welch": "Does a mean differ between two groups?",
        "rank": "Which columns are most informative about another?",
        "rules": "Which values go together, and which rules follow?",
    },
    "Predict": {
        "id3": "Which rules predict a column? (a decision tree)",
        "forest": "Which rules predict it more reliably? (many trees that vote, harder to read)",
        "boost": "Which small trees together predict a class or a number? (boosted trees)",
        "release naive-bayes": "How likely is each class? (naive Bayes)",
        "evaluate report": "How good is a model, or a score?",
        "evaluate auc": "Does a model, or a score, predict the outcome well enough?",
        "evaluate better": "Does it predict better than another score?",
        "regress joint": "What speaks for and against a class? (a linear classifier)",
        "scorecard": "How many points speak for a class? (a scorecard)",
    },
    "Groups of alike": {
        "cluster": "Which rows are alike? (clusters)",
    },
    "Publish": {
        "publish joint-table": "Which table of counts or sums may be published?",
        "publish joint": "How can both publish rows in which nobody is recognised? (one recoding)",
        "publish lattice": "The same by hierarchies: which level of each?",
        "synthesise": "Which invented rows are like those of both?",
        "release marginals": "Which columns go together, for making invented rows?",
    },
    "Compare": {
        "millionaires": "Who has more?",
        "equality": "Do both have the same number?",
        "majority": "Which class do most rows have?",
        "circuit": "What does a circuit of ours compute from both inputs?",
    },
}
OTHERS = "Others"
ABOUT = frozenset({"where", "of"})  # settings that state the subject of a question, besides columns

MEANS = {  # meaning of a setting's default, for people
    "adjacency": "The noise hides whether a row is present at all.",
    "alternative": "A difference in either direction counts.",
    "at": "The median: as many rows lie below as above.",
    "base": "A row with even odds has 500 points.",
    "against": "Nobody is recognised by the public, nor by the peer, which can subtract its own rows.",
    "at_most": "As set for the table in party.toml: noise hides a row, or all rows of a person.",
    "bins": "A model's scores are grouped in twentieths.",
    "attributes": "The square root of the number of questions: trees differ, and so vote better.",
    "bits": "Numbers up to about four billion fit.",
    "classifier": "The scores are a column of the table.",
    "classes": "All values of the target compete.",
    "clip": "No row can pull the result further than a public bound.",
    "columns": "All columns of the schema may be used.",
    "cutoff": "A score of one half or more stands for yes.",
    "criterion": "The usual one: entropy for a tree, Gini for a forest. They rarely differ.",
    "delta": "The promise of epsilon holds without exception, or except with the tiny probability given here.",
    "distance": "The order of the values does not count.",
    "depth": "Each tree asks at most four questions about a row.",
    "diversity": "A group must have this number of different values, however often each occurs.",
    "epsilon": "No noise is added.",
    "event_value": "Where the column says yes, the event came.",
    "exact": "Noise is added, so that no single row shows. Without it the peer can subtract its own part.",
    "first": "The three most frequent ones; for sets of values ten.",
    "gamma": "Every split that helps is made.",
    "groups": "A column of many numbers is divided into about two hundred groups of neighbours.",
    "generator": "Rows are drawn from a model of which columns go together.",
    "confidence": "Four of five rows to which a rule applies agree with it.",
    "good": "Points speak for the first of the two classes.",
    "holdout": "If rows are held out for pruning, they are three of ten.",
    "huber": "Only a narrow band at the border is treated mildly.",
    "iterations": "Chosen so that the noise stays small.",
    "k": "No leaf or group has fewer rows than that, unless it has none.",
    "l": "All rows of a group may be of one class: a person known to be in it is then known to be of that class.",
    "lambda": "Chosen so that single rows weigh little.",
    "leaf_epsilon": "The classes at the ends get as much of the privacy budget as each level.",
    "lift": "Rules that are no better than chance are omitted.",
    "level": "Equal groups are found to differ in one of twenty cases.",
    "least_rows": "No minimum number of rows is promised.",
    "loss": "Wrong predictions cost more the more confident they are.",
    "missing": "A row without a value in a column of the question does not count there.",
    "max_classes": "Searches have up to 16,384 groups.",
    "max_depth": "Chosen by public numbers, so that the tree stays readable and affordable, unless plain is chosen.",
    "max_rows": "The bound that the table has in party.toml.",
    "max_suppressed_rows": "No row is omitted from the publication.",
    "max_length": "Sets of at most four values are considered.",
    "measure": "Columns are compared by mutual information, which suits any number of classes.",
    "method": "The method that suits most tables.",
    "utility": "Candidates are judged by the values of one column, with scores or prices.",
    "within": "Percentages are of all rows.",
    "scores": "Candidates are judged by prices instead: set one or the other.",
    "prices": "Candidates are judged by scores instead: set one or the other.",
    "min_child_weight": "No leaf has fewer than five rows, or twenty with two classes.",
    "min_rows": "Only the other rules end a branch.",
    "model_cells": "A model of this size; a larger one takes more memory.",
    "most": "A run stops at about a million candidates.",
    "shards": "One process computes at each party. Several find the same answer.",
    "most_bytes": "A run that costs far more than its forecast stops in order.",
    "numeric": "All columns are treated as categories, not as numbers.",
    "objective": "Squared errors for numbers, otherwise probabilities of the classes.",
    "points_to_double": "Fifty more points double the odds.",
    "parts": "Chosen so that the noise stays small.",
    "plain": "The rules for groups hold. Without them a leaf may describe one person.",
    "prune": "A branch grows as long as the other rules permit, whether or not it is worth it.",
    "quality": "The question that classifies most rows correctly is preferred.",
    "rate": "Chosen by public numbers.",
    "round_to": "Every number can be the answer.",
    "rounds": "Fifty trees, or fifty for each of several classes.",
    "rows": "As many rows are made as there seem to be.",
    "rules": "A value is told, or hidden altogether.",
    "score": "Groups are divided as evenly as possible.",
    "seed": "The random draws of the default seed, the same for everybody.",
    "select": "The counts are chosen step by step, where the model fits worst.",
    "show": "Rules that a shorter one implies are omitted.",
    "sets": "Every combination of this number of columns is counted.",
    "splits": "Two branches: below an edge, and from it on. A plain tree has one a value, a noisy one two for numbers.",
    "shares": "Later rounds, which matter more, get more of the budget.",
    "steps": "Chosen so that the noise stays small.",
    "stop": "A branch may end when no question helps.",
    "support_epsilon": "The number of rows in a leaf is not revealed.",
    "support": "A tenth of all rows must have the values of a rule.",
    "t": "A group's sensitive values may differ from those of all rows.",
    "target_value": "High scores stand for yes.",
    "threshold": "Cells of one or two rows are hidden.",
    "tolerance": "Questions that are equally good to a thousandth count as equal.",
    "transaction": "Each row is a basket of its own.",
    "value": "The share is that of the last of two values.",
    "trees": "One tree, which people can read; a forest has a hundred, which vote.",
    "ways": "Columns are considered in pairs.",
    "weights": "A row of one class counts as much as a row of another.",
    "zeros": "Nobody sees whether a hidden cell is empty or just small.",
    "engine": "The usual way; the answer is the same with each, only bytes and time differ.",
    "ot": "The usual way; only bytes and time differ.",
    "garbling": "The usual way; only bytes and time differ.",
    "form": "The usual way; only bytes and time differ.",
    "gates": "The usual way; only bytes and time differ.",
}


def grouped() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield groups of kinds of jobs, each with its question; kinds of other packages come last, in their own words."""
    ours = {name for group in GROUPS.values() for name in group}
    installed = kinds.names()
    for title, questions in GROUPS.items():
        yield title, [(name, question) for name, question in questions.items() if name in installed]
    if others := [(name, kinds.line(name)) for name in installed if name not in ours]:
        yield OTHERS, others


def question(name: str) -> str:
    """Return the question of a kind in words."""
    return next((group[name] for group in GROUPS.values() if name in group), "") or kinds.line(name)


def is_first(field: Parameter) -> bool:
    """Return whether a question needs the setting: it is required, or states the question's subject."""
    return not field.is_engine and (field.is_needed or field.column or field.role == "private" or field.key in ABOUT)
