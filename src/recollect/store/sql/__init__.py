"""What the SQL stores share: readers and writers made of queries by name. A backend brings and runs those."""
