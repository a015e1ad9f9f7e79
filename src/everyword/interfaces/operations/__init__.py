"""The registry of operations, from which all surfaces are made."""

from everyword.interfaces.operations.parameters import Parameter, check_arguments, parse_query
from everyword.interfaces.operations.registry import API_OPERATIONS, BY_NAME, OPERATIONS, Operation

__all__ = ["API_OPERATIONS", "BY_NAME", "OPERATIONS", "Operation", "Parameter", "check_arguments", "parse_query"]
