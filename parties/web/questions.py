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
        "release risks": "Does a risk differ between two groups, and by how much?",
        "release rates": "Does the rate of events differ between two groups, and by how much?",
        "release difference": "Does an average differ between two groups, and by how much?",
        "release correlation": "How strongly do two columns of numbers depend on each other? (correlation)",
        "release median": "What is the median of a column?",
        "release top": "Which values of a column are the most frequent?",
        "release choose": "Which of some candidates is best, by scores of a column's values?",
        "release triangles": "How many triangles does the network of both have?",
        "variance": "Is the variance of a column above a bound?",
        "evaluate drift": "Do our tables differ in some columns?",
        "survive cox": "What changes the time until an event? (Cox regression)",
        "survive curve": "How long until an event, such as a death? (survival curve)",
        "survive compare": "Do two groups survive differently?",
        "regress logistic": "What changes the odds of an outcome? (logistic regression)",
        "regress poisson": "What changes the rate of events? (Poisson regression)",
        "quantile": "Below which number lies a given share of the rows?",
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
        "evaluate error": "How far is a model of numbers off?",
        "evaluate auc": "Does a model, or a score, predict the outcome well enough?",
        "evaluate better": "Does it predict better than another score?",
        "regress joint": "What speaks for and against a class? (a linear classifier)",
        "scorecard": "How many points speak for a class? (a scorecard)",
    },
    "Groups of similar rows": {"cluster": "Which rows are similar? (clusters)"},
    "Publish": {
        "publish joint-table": "Which table of counts or sums may be published?",
        "publish joint": "How can both publish rows in which nobody is recognised? (one recoding)",
        "publish lattice": "How coarse must each column be, so that nobody is recognised? (one level of a hierarchy)",
        "synthesise": "Which invented rows resemble the rows of both? (synthetic rows)",
        "release marginals": "How often does each combination of values occur, for making synthetic rows?",
    },
    "Same people": {
        "align exact": "Which rows of both tables are about one person?",
        "align lookup": "Which of a few people are in the other party's long list?",
        "align fuzzy": "Which rows are about one person, if names and dates have typing errors?",
    },
    "Compare": {
        "millionaires": "Who has more?",
        "equality": "Do both have the same number?",
        "majority": "Which class do most rows have?",
        "circuit": "What does a circuit of ours compute from both inputs?",
    },
}
OTHERS = "Others"
ABOUT = frozenset({"where", "of", "bounds"})  # settings that state the subject of a question, besides columns

MEANS = {  # meaning of a setting's default, for people
    "adjacency": "The noise hides whether a row is present at all.",
    "alignment": "The two tables have different people, and the same columns.",
    "alternative": "A difference in either direction counts.",
    "at": "The median: as many rows lie below as above.",
    "base": "A row with even odds has 500 points.",
    "against": "The minimums hold against the public, and against the peer, which can subtract its own rows.",
    "at_most": "As set for the table in party.toml: noise hides a row, or all rows of a person.",
    "bin_rows": "A block of more than about 32 rows of a party leaves some of them out.",
    "bins": "Numbers are cut into the default number of ranges: 32 for trees, 20 for scores of a model.",
    "attributes": "Each node chooses among a few random splits: the square root of their number, rounded up.",
    "bits": "Numbers up to about four billion fit.",
    "classifier": "The scores are a column of the table.",
    "classes": "Every value of the target can be the answer.",
    "clip": "A public bound limits the effect of a single row.",
    "columns": "All columns of the schema may be used.",
    "cutoff": "A score of one half or more stands for yes.",
    "criterion": "Entropy for a tree, Gini for a forest. The results rarely differ.",
    "delta": "The guarantee of epsilon fails with at most this tiny probability, or never if none is given.",
    "duplicates": "A table in which two rows have one key takes no part.",
    "distance": "The order of the values does not count.",
    "depth": "Each tree asks at most four questions about a row.",
    "diversity": "A group needs this number of different values. Their frequencies do not count.",
    "epsilon": "No noise is added.",
    "exposure": "Each row counts as one unit of time at risk.",
    "limit": "A row counts until one event of it is expected, which keeps the noise small.",
    "event_value": "A row with the value yes had the event.",
    "exact": "Noise is added, so that no single row shows. Without it the peer can subtract its own part.",
    "first": "The three most frequent ones; for sets of values ten.",
    "fold": "The first share of the rows is held out, if any.",
    "forms": "Keys are compared as they are written.",
    "gamma": "Every split that reduces the loss is made.",
    "groups": "The numbers are counted in about two hundred groups of neighbours.",
    "generator": "Rows are drawn from a graphical model, which states how columns depend on each other.",
    "confidence": "Four of five rows to which a rule applies agree with it.",
    "good": "Higher points stand for the first of the two classes.",
    "held_out": "All rows train the model, so it can only be judged on rows that it has seen.",
    "holdout": "If rows are held out for pruning, they are three of ten.",
    "huber": "The corner of the loss is rounded over an interval of width 1.",
    "iterations": "Chosen so that the noise stays small.",
    "judged_on": "A model is judged on the rows that its training held out, if it did; else on all.",
    "k": "Every leaf or group has at least this number of rows, or none.",
    "keys": "The bound that the table has in party.toml.",
    "learns": "Both parties learn the result.",
    "list": "The list is made anew, and sent in the job.",
    "listener_keys": "Both parties take part with at most as many rows.",
    "opens": "Each party that learns the result sees which of its own rows are matched.",
    "l": "All rows of a group may be of one class: a person known to be in it is then known to be of that class.",
    "lambda": "The weights stay small, so single rows change little.",
    "leaf_epsilon": "The classes at the ends get as much of the privacy budget as each level.",
    "lift": "Rules that are no better than chance are omitted.",
    "level": "If there is no difference, one is reported in one of twenty cases.",
    "least_rows": "No minimum number of rows is promised.",
    "loss": "The logistic loss: a wrong prediction costs more if it is more confident.",
    "missing": "A row without a value in a column of the question does not count there.",
    "max_classes": "Levels with more than 16,384 possible groups are not tried.",
    "max_depth": "Chosen by public numbers, so that the tree stays readable and affordable, unless plain is chosen.",
    "max_rows": "The bound that the table has in party.toml.",
    "max_suppressed_rows": "No row is omitted from the publication.",
    "max_length": "Sets of at most four values are considered.",
    "measure": "Columns are compared by mutual information, which suits any number of classes.",
    "method": "The method that suits most tables.",
    "ties": "Efron's method, which errs less than Breslow's if many events share a bin.",
    "utility": "Candidates are judged by the values of one column, with scores or prices.",
    "within": "Percentages are of all rows.",
    "scores": "Candidates are judged by prices instead: set one or the other.",
    "prices": "Candidates are judged by scores instead: set one or the other.",
    "min_child_weight": "No leaf has fewer than five rows, or twenty with two classes.",
    "min_rows": "Only the other settings make a node a leaf.",
    "model_cells": "A model of this size; a larger one takes more memory.",
    "most": "A run stops at about a million candidates.",
    "shards": "Each party uses one process. Several processes give an equal answer.",
    "most_bytes": "A run that costs far more than its forecast stops in order.",
    "numeric": "All columns are treated as categories, not as numbers.",
    "objective": "Squared error for a target of numbers, otherwise the probabilities of the classes.",
    "points_to_double": "Fifty more points double the odds.",
    "parts": "Chosen so that the noise stays small.",
    "plain": "The minimum of rows in a leaf holds. With plain, a leaf may describe one person.",
    "permit": "The job names no permit.",
    "prune": "A branch grows as far as the other settings permit.",
    "quality": "The split whose branches classify most rows correctly is preferred.",
    "rate": "Computed from public numbers.",
    "round_to": "Every number can be the answer.",
    "rounds": "Fifty trees, or fifty for each of several classes.",
    "rows": "As many rows are made as both tables have, by the noisy counts.",
    "rules": "A value is published unchanged, or replaced by *.",
    "score": "Groups are divided into parts of similar size.",
    "seed": "The default seed: all jobs without a seed draw equal random splits.",
    "select": "The counts are chosen step by step, where the model fits worst.",
    "show": "Rules that a shorter one implies are omitted.",
    "sets": "Every set of this number of columns is counted.",
    "splits": "Two branches a node. A plain tree has one for each value, a noisy one two for ordered columns only.",
    "shares": "Later rounds get more epsilon, because they decide the result.",
    "steps": "Chosen so that the noise stays small.",
    "strata": "All rows are compared together.",
    "stop": "A branch may end before the maximum depth if no split helps.",
    "support_epsilon": "The number of rows in a leaf is not revealed.",
    "support": "A tenth of all rows must have the values of a rule.",
    "t": "The sensitive values of a group may differ from those of all rows by any amount.",
    "target_value": "High scores predict yes.",
    "threshold": "Cells of one or two rows are hidden.",
    "tolerance": "Splits whose entropy differs by at most a thousandth count as equally good.",
    "transaction": "Each row is a basket of its own.",
    "value": "The tested share is that of the last of two values.",
    "trees": "One tree, which people can read; a forest has a hundred, which vote.",
    "ways": "Columns are considered in pairs.",
    "weights": "A row of one class counts as much as a row of another.",
    "zeros": "Nobody sees whether a hidden cell is empty or small.",
    "engine": "The cheapest engine. The answer is equal with each; cost and protection against a cheating peer differ.",
    "ot": "The default. The answer does not change, only bytes and time.",
    "garbling": "The default. The answer does not change, only bytes and time.",
    "form": "The default. The answer does not change, only bytes and time.",
    "gates": "The default. The answer does not change, only bytes and time.",
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
