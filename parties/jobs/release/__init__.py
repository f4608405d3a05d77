"""Small questions whose answers are numbers: each a kind of job in a file of its own, and what they share.

No joint number is opened without noise, unless both parties ask for that in so many words (`exact`).
"""
