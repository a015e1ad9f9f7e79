"""The HTTP service: the operations as routes, with keys, a change stream, webhooks, MCP and the web page."""
