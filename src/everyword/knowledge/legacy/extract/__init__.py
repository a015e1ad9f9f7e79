"""Events -> statements: typed claims with verbatim quotes, compared with what is known and linked to one
another."""
