"""A party as a process: command line, link, identity, tables, jobs and pictures."""
