"""The values, errors and text rules that everything else speaks in. Imports nothing of ours."""
