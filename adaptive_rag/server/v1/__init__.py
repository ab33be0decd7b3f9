"""The API for clients of OpenAI: models, chat completions, and errors in OpenAI's format."""
