"""Other frameworks' interfaces on top of a memory; each module needs its own extra and says which."""
