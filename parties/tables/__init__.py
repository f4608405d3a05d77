"""A party's private rows and the public schema: from files and frames to value indices."""
