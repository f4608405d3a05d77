"""Documents of a controller for the GDPR: the record of processing, and a draft of the impact assessment.

activities  jobs of each purpose from the audit log: parties, columns, opened values, charges
processing  the record of processing (art. 30), from party.toml and the log
assessment  a draft of the assessment (art. 35), with the measured risks
markdown    both documents as text for people
"""
