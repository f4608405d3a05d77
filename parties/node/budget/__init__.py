"""Privacy budgets of tables: charges, their composition, and the check whether another job fits."""
