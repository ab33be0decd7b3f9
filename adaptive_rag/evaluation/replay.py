"""Replay a chat model's recorded replies to each question, to measure its plans without calling it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adaptive_rag.analysis.question_types import TYPES
from adaptive_rag.context.groups import ModelStep
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.records import parse_lines, read_text
from adaptive_rag.testing import ScriptedChatModel

Replies = Mapping[str, Mapping[ModelStep, Mapping[str, Any]]]


def read_replies(folder: Path, dataset: str) -> Replies:
    """Return the recorded replies of a data set: question id -> step -> the reply's fields.

    The folder holds DATASET.jsonl; a line has `_id`, `type`, and the keys of that type in TYPES.

    Raises:
        ConfigurationError: there is no such file, or a line lacks a field.
    """
    file = folder / f"{dataset}.jsonl"
    if not file.is_file():
        raise ConfigurationError(
            f"{str(folder)!r} holds no replies to {dataset}; expected {file.name} there."
        )
    replies: dict[str, dict[ModelStep, dict[str, Any]]] = {}
    for line in parse_lines(read_text(file), file):
        try:
            steps = TYPES[line["type"]].reply_keys
            replies[line["_id"]] = {step: {key: line[key] for key in keys} for step, keys in steps.items()}
        except (KeyError, TypeError) as error:
            raise ConfigurationError(f"{file}: a reply lacks {error}: {str(line)[:120]}") from error
    return replies


def only_replied(dataset: Dataset, folder: Path) -> Dataset:
    """Return the data set with only the questions that have a recorded reply, and a note about the others.

    Raises:
        ConfigurationError: as `read_replies`, or no reply is to a question of the data set.
    """
    replies = read_replies(folder, dataset.name)
    # The digest includes the replies, so that a run is resumed only with the same ones.
    content = hashlib.sha256((folder / f"{dataset.name}.jsonl").read_bytes()).hexdigest()[:16]
    dataset = replace(dataset, questions_digest=f"{dataset.questions_digest} {content}")
    replied = tuple(question for question in dataset.questions if question.id in replies)
    if not replied:
        file = folder / f"{dataset.name}.jsonl"
        raise ConfigurationError(f"{file} holds no reply to a question of {dataset.name}; compare the ids.")
    if len(replied) == len(dataset.questions):
        return dataset
    note = f"{dataset.name}: {len(replied)} of {len(dataset.questions)} questions have a recorded reply"
    return replace(dataset, questions=replied, notes=(*dataset.notes, f"{note}; the others are left out"))


def replay_settings(
    replies: Mapping[ModelStep, Mapping[str, Any]], steps: frozenset[ModelStep]
) -> dict[str, Any]:
    """Return the settings that answer a question with recorded replies.

    A step without a recorded reply works locally, so that no model is called.
    """
    return {
        "model": ScriptedChatModel(script=dict(replies)),
        "models.steps": steps & set(replies),
        "models.fast_model": None,
        "retrieval.selection": "local",
    }
