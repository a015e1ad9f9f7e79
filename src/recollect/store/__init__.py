"""Stores: what one must do (`protocol`), what every one shares, and one package a backend."""
