"""Preparation of a raw table for jobs: find its file format and the types of its columns, and propose a schema."""
