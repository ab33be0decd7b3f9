"""Asking a chat model: prompts, replies, the delimiters around passages, budget and retries."""
