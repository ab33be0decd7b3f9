"""The address that clients of OpenAI's API know: models, chat completions, errors in its form."""
