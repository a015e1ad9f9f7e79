"""What a memory does with its parts: which model serves, writing, recalling, upkeep. The facade is `memory.py`."""
