"""Interfaces of other frameworks on top of a memory. A module that needs an extra names it when it is missing."""
