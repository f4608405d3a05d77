"""Decisions about which events happen to jobs, with the policy, limits and budgets on which they rest."""
