"""Mining of values that people blurred themselves: no true value is sent, distributions come back.

noise        what is added to a number, or which cell it is rounded to, and how wide the interval of a confidence is
response     what is said instead of a category: the truth, or any of k
domain       the intervals, or the points, that a number is taken to lie in
estimation   the distribution of the true values: Bayes' rule, iterated until the chi-square test sees no difference
assignment   blurred rows in order, given the intervals of a reconstructed distribution
tree         a binary tree on intervals, pruned by description length; strategies: Global, ByClass, Local
attack       what the interval metric does not admit: spectral filtering, privacy as entropy
plan         `blur.toml`: what is blurred how, which both sides know; table: rows of a source, blurred or read
reports      what the commands say
"""
