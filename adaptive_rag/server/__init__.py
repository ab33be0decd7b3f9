"""The web server with its APIs and its page, and the access control of LangGraph's server."""
