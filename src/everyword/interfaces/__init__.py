"""The command line, HTTP service, MCP server, hooks, page and adapters."""
