"""Values that several layers share, and their JSON."""
