"""Tokenising, spans, sentences and dates in text."""
