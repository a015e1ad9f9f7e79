"""Names of the facts that a store keeps about itself."""

ANALYSIS = "analysis"  # the version of core/words.py that made the postings
SCRUB_OWED = "scrub_owed"  # set with a removal, cleared when the file has been rewritten
COPYING = "copying"  # how far a copy from another store is; empty when it is complete
