"""What the SQL stores share: readers and writers made of queries by name; a backend brings the queries."""
