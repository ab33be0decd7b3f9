"""Asking a chat model: prompts, replies, the fence around passages, budget and retries."""
