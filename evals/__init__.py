"""Measuring what ships: tasks, systems, metrics and results, on Recollect's public interface alone."""
