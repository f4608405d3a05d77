"""What a controller must be able to show (GDPR): the record of processing, and a draft of the impact assessment.

activities  what the audit log tells of each purpose: jobs, parties, columns, what was opened and spent
processing  the record of processing (art. 30), from party.toml and the log
assessment  a draft of the assessment (art. 35), with the risks that were measured
markdown    both as text for people
"""
