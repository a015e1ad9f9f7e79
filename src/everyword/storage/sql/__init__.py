"""The SQL code that both stores share: readers and writers over named queries; each backend brings the queries."""
