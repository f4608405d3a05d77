"""Mining of blurred values: people publish values with noise, the collector reconstructs distributions.

noise        noise added to a number, or the cell it is rounded to, and the width of its confidence interval
response     randomised response of a category: the truth, or any of k
domain       the intervals, or the points, of a number's possible values
estimation   the distribution of the true values: Bayes' rule, iterated until the chi-square test sees no difference
assignment   blurred rows in order, given the intervals of a reconstructed distribution
tree         a binary tree on intervals, pruned by description length; strategies: Global, ByClass, Local
attack       leakage that the interval metric does not measure: spectral filtering, privacy as entropy
plan         `blur.toml`: the blurring of each column, public; table: rows of a source, blurred or read
reports      results of the commands, as JSON and text
"""
