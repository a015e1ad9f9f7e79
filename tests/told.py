"""A few lines of talk, and questions that one of them answers: what any embedder must tell apart."""

TEXTS = [
    "[2 April 2026] Ana: I moved to Lisbon in March.",
    "[3 April 2026] Ben: The cat knocked the blue vase off the shelf again.",
    "[3 April 2026] Ana: My sister works as a nurse in Porto.",
    "[4 April 2026] Ben: We decided to use PostgreSQL for the billing service.",
]
ASKED = [("Which city did Ana move to?", 0), ("Which database did we choose?", 3), ("What did the cat break?", 1)]
