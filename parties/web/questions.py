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
        "rank": "Which columns tell most of another?",
        "rules": "Which values go together, and which rules follow?",
    },
    "Predict": {
        "id3": "Which rules predict a column? (a decision tree)",
        "forest": "The same, surer and harder to read? (many trees that vote)",
        "boost": "Which small trees together predict a class or a number? (boosted trees)",
        "release naive-bayes": "How likely is each class? (naive Bayes)",
        "evaluate report": "How good is a model, or a score?",
        "evaluate auc": "Does a model, or a score, tell the outcome well enough?",
        "evaluate better": "Does it tell more than another score?",
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
        "circuit": "What does a circuit of ours say of both inputs?",
    },
}
OTHERS = "Others"
ABOUT = frozenset({"where", "of"})  # settings that state the subject of a question, besides columns

MEANS = {  # meaning of a setting's default, for people
    "adjacency": "The noise hides whether a row is there at all.",
    "alternative": "A difference counts in either direction.",
    "at": "The median: as many rows lie below as above.",
    "base": "A row of even chances has 500 points.",
    "against": "Nobody is recognised by the public, nor by the peer, who can take its own rows away.",
    "at_most": "What the table in party.toml says: noise hides a row, or all rows of a person.",
    "bins": "A model's scores are told apart by twentieths.",
    "attributes": "The square root of how many questions there are: trees differ, and vote the better for it.",
    "bits": "Numbers up to about four billion fit.",
    "classifier": "The scores are a column of the table.",
    "classes": "All values of the target compete.",
    "clip": "No row can pull the result further than a public bound.",
    "columns": "Everything that the schema has may be used.",
    "cutoff": "A score of a half and more stands for yes.",
    "criterion": "The usual one: entropy for a tree, Gini for a forest. They seldom differ.",
    "delta": "What epsilon promises holds without exception, or but for the tiny chance that is named here.",
    "distance": "The order of the values does not count.",
    "depth": "Each tree asks four questions of a row at most.",
    "diversity": "A group must have so many different values, however often each occurs.",
    "epsilon": "No noise is added.",
    "event_value": "Where the column says yes, the event came.",
    "exact": "Noise is added, so that no single row shows. Without it the peer can subtract its own part.",
    "first": "The three most frequent are told; of sets of values ten.",
    "gamma": "Every split that helps is made.",
    "groups": "A column of many numbers is told by about two hundred groups of neighbours.",
    "generator": "Rows are drawn from a model of which columns go together.",
    "confidence": "Four of five rows that a rule speaks of agree with it.",
    "good": "Points speak for the first of the two classes.",
    "holdout": "Where rows are held out to prune by, they are three of ten.",
    "huber": "Only a narrow band at the border is treated mildly.",
    "iterations": "Chosen so that the noise stays small.",
    "k": "No leaf or group speaks of fewer rows than that, unless of none.",
    "l": "A group may all be of one class: whoever is known to be in the group is then known to be of that class.",
    "lambda": "Chosen so that single rows weigh little.",
    "leaf_epsilon": "The classes at the ends get as much of the privacy budget as each level.",
    "lift": "Rules that say no more than chance are left out.",
    "level": "Groups that are alike are told to differ once in twenty times.",
    "least_rows": "Nothing is promised about how few rows there are.",
    "loss": "Wrong guesses cost more the surer they were.",
    "max_classes": "Searches of up to 16,384 groups are made.",
    "max_depth": "Chosen by public numbers, so that the tree stays readable and affordable, unless plain is chosen.",
    "max_rows": "The bound that the table has in party.toml.",
    "max_suppressed_rows": "No row is left out of what is published.",
    "max_length": "Sets of at most four values are looked at.",
    "measure": "Columns are compared by mutual information, which suits any number of classes.",
    "method": "The way that suits most tables.",
    "utility": "Candidates are judged by the values of one column, with scores or prices.",
    "within": "Percentages are of all rows.",
    "scores": "Candidates are judged by prices instead: say one or the other.",
    "prices": "Candidates are judged by scores instead: say one or the other.",
    "min_child_weight": "No leaf speaks of fewer than five rows, or of two classes than twenty.",
    "min_rows": "Only the other rules end a branch.",
    "model_cells": "A model of this size; a larger one takes more memory.",
    "most": "A run stops at about a million candidates.",
    "shards": "One process computes at each party. Several find the same answer.",
    "most_bytes": "A run that costs far more than was forecast stops in order.",
    "numeric": "Every column is taken as kinds, not as amounts.",
    "objective": "Squares for numbers, else chances of the classes.",
    "points_to_double": "Fifty points more mean odds twice as good.",
    "parts": "Chosen so that the noise stays small.",
    "plain": "The rules for groups hold. Without them a leaf may speak of one person.",
    "prune": "A branch goes on as long as the other rules let it, whether or not it is worth it.",
    "quality": "The question is preferred that gets most rows right.",
    "rate": "Chosen by public numbers.",
    "round_to": "Every number can be the answer.",
    "rounds": "Fifty trees, or fifty for each of several classes.",
    "rows": "As many rows are made as there seem to be.",
    "rules": "A value is told, or hidden altogether.",
    "score": "Groups are divided as evenly as can be.",
    "seed": "The draws that everybody gets who leaves it.",
    "select": "What is counted is chosen step by step, where the model is worst.",
    "show": "Rules that a shorter one says already are left out.",
    "sets": "Every combination of so many columns is counted.",
    "splits": "Two branches, below an edge and from it on; a plain tree has one a value, a noisy one two of numbers.",
    "shares": "Later rounds, which matter more, get more of the budget.",
    "steps": "Chosen so that the noise stays small.",
    "stop": "A branch may end when no question helps.",
    "support_epsilon": "How many rows a leaf has is not told.",
    "support": "A tenth of all rows must have the values of a rule.",
    "t": "A group may differ from all rows in what is sensitive.",
    "target_value": "High scores stand for yes.",
    "threshold": "Cells of one or two rows are hidden.",
    "tolerance": "Questions that are as good to a thousandth count as equal.",
    "transaction": "Each row is a basket of its own.",
    "value": "The share is that of the last of two values.",
    "trees": "One tree, which can be read; of a forest a hundred, which vote.",
    "ways": "Columns are looked at in pairs.",
    "weights": "A row of one class counts as much as a row of another.",
    "zeros": "Nobody sees whether a hidden cell is empty or just small.",
    "engine": "The usual way; the answer is the same with each, only bytes and time differ.",
    "ot": "The usual way; only bytes and time differ.",
    "garbling": "The usual way; only bytes and time differ.",
    "form": "The usual way; only bytes and time differ.",
}


def grouped() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield groups of kinds of jobs, each with its question; kinds of other packages come last, in their own words."""
    known = {name for group in GROUPS.values() for name in group}
    there = kinds.names()
    for title, questions in GROUPS.items():
        yield title, [(name, question) for name, question in questions.items() if name in there]
    if others := [(name, kinds.line(name)) for name in there if name not in known]:
        yield OTHERS, others


def question(name: str) -> str:
    """Return the question of a kind in words."""
    return next((group[name] for group in GROUPS.values() if name in group), "") or kinds.line(name)


def is_first(field: Parameter) -> bool:
    """Return whether a question needs the setting: it is required, or states the question's subject."""
    return not field.is_engine and (field.is_needed or field.column or field.role == "private" or field.key in ABOUT)
