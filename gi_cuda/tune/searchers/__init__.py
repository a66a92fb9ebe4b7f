"""Searchers: each module here is one, and says so by its ``SEARCHER``."""
