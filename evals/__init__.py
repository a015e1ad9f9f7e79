"""Measuring what ships: tasks, systems, metrics and results, on Everyword's public interface alone."""
