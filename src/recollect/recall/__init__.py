"""Recall: one file a stage, and recipes that name pipelines of them."""
