"""Readers of foreign files: each turns one format into a raw table of text; they know no study."""
