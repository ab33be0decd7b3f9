"""Load the data sets of an evaluation: labelled questions, and the passages or documents to search."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.evaluation.records import parse_json, parse_lines, read_text
from adaptive_rag.ingest import discover
from adaptive_rag.query.history import read_question
from adaptive_rag.state import ROUTED_TYPES, Chunk, RoutedType, Turn

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv")
QRELS_COLUMNS = ("query-id", "corpus-id", "score")
ONTOLOGY = "ontology.yaml"
# Fields that tell a labelled question from an entry of an FAQ, which is a document.
LABELS = ("ideal_answer", "has_answer")
ASPECTS, ASPECTS_COLUMNS = "aspects.tsv", ("query-id", "corpus-id", "aspect")


@dataclass(frozen=True)
class Question:
    """A question as a person would ask it, with the labels that only the scorer may see."""

    id: str
    text: str
    user_context: str = ""
    history: tuple[Turn, ...] = ()
    # labels, for the scorer only
    type: RoutedType | None = None
    reference: str | None = None
    has_answer: bool | None = None
    gold: dict[str, int] = field(default_factory=dict)  # passage -> grade
    quote: str | None = None  # text that a relevant chunk contains, if documents are split into chunks
    aspects: dict[str, tuple[str, ...]] = field(default_factory=dict)  # passage -> aspects


@dataclass(frozen=True)
class Dataset:
    """Questions, and either ready passages or the documents to read."""

    name: str
    questions: tuple[Question, ...]
    passages: tuple[Chunk, ...] = ()
    documents: tuple[Path, ...] = ()
    documents_folder: Path | None = None
    # sha256 of the documents, which is part of the name of the cached index, and of the questions
    corpus_digest: str = ""
    questions_digest: str = ""
    # the file with the terms of its domain, if there is one
    ontology: Path | None = None
    # sentences about what was left out or could not be read
    notes: tuple[str, ...] = ()


def load_dataset(path: str | Path) -> Dataset:
    """Read a BEIR folder, or a questions file (or a folder with one) next to its documents.

    Raises:
        ConfigurationError: the path is no data set, or a file does not have the expected form.
    """
    path = Path(path).expanduser()
    if path.is_dir() and ((path / CORPUS).exists() or (path / QUERIES).exists()):
        return _load_beir(path)
    if path.is_dir() and (files := sorted(file for file in path.glob("*.json*") if _has_questions(file))):
        return _load_documents(path.resolve().name, files, path)
    if path.is_file():
        name = path.resolve().parent.name if path.stem == "questions" else path.stem
        return _load_documents(name, [path], path.parent)
    raise ConfigurationError(
        f"{str(path)!r} is not a data set; expected a folder with {CORPUS}, {QUERIES} and {QRELS[0]}, "
        "or a JSON file of questions ('question', 'ideal_answer', 'has_answer') beside its documents."
    )


def limited(dataset: Dataset, limit: int | None, seed: int) -> Dataset:
    """Return the data set with a random sample of its questions, in their order, and the whole corpus."""
    if limit is None or limit >= len(dataset.questions):
        return dataset
    sample = sorted(random.Random(seed).sample(range(len(dataset.questions)), limit))
    return replace(dataset, questions=tuple(dataset.questions[i] for i in sample))


def with_gold(dataset: Dataset, chunks: Iterable[Chunk]) -> Dataset:
    """Label the chunks of documents: a chunk that contains a question's quote is relevant."""
    quotes = {q.id: collapse_whitespace(q.quote) for q in dataset.questions if q.quote and not q.gold}
    if not quotes:
        return dataset
    gold: dict[str, dict[str, int]] = {}
    for chunk in chunks:
        text = collapse_whitespace(chunk["text"])
        for question_id, quote in quotes.items():
            if quote in text:
                gold.setdefault(question_id, {})[chunk["id"]] = 1
    questions = tuple(replace(q, gold=gold[q.id]) if q.id in gold else q for q in dataset.questions)
    return replace(dataset, questions=questions)


def _load_beir(folder: Path) -> Dataset:
    qrels = next((folder / name for name in QRELS if (folder / name).is_file()), folder / QRELS[0])
    for file in (folder / CORPUS, folder / QUERIES, qrels):
        if not file.is_file():
            expected = f"{CORPUS}, {QUERIES} and {QRELS[0]}"
            raise ConfigurationError(f"The data set {folder.name!r} has no {file.name}; expected {expected}.")
    passages = {id_: _make_passage(row) for id_, row in _read_unique_rows(folder / CORPUS).items()}
    queries = _read_unique_rows(folder / QUERIES)
    grades = _read_judgements(qrels, QRELS_COLUMNS, queries, passages)
    # The last line about a passage counts.
    gold = {
        query: {passage: int(values[-1]) for passage, values in by_passage.items()}
        for query, by_passage in grades.items()
    }
    aspects: dict[str, dict[str, list[str]]] = {}
    if (folder / ASPECTS).is_file():
        aspects = _read_judgements(folder / ASPECTS, ASPECTS_COLUMNS, queries, passages)
    judged = {query for query, grades in gold.items() if any(grade > 0 for grade in grades.values())}
    if not judged:
        raise ConfigurationError(f"{qrels} names no relevant passage; there is nothing to score.")
    left_out = len(queries) - len(judged)
    return Dataset(
        name=folder.resolve().name,
        # Only named fields are copied, so that a rewrite shipped with the data cannot reach an arm.
        questions=tuple(
            _make_question(
                row,
                folder / QUERIES,
                id=query,
                text=row["text"],
                reference=_read_field(row, "reference_answer", f"{folder / QUERIES}: the question {query!r}"),
                gold=gold[query],
                aspects={p: tuple(dict.fromkeys(names)) for p, names in aspects.get(query, {}).items()},
            )
            for query, row in queries.items()
            if query in judged
        ),
        passages=tuple(passages.values()),
        corpus_digest=_digest([folder / CORPUS]),
        questions_digest=_digest([folder / QUERIES, qrels, folder / ASPECTS]),
        notes=(f"{folder.name}: {left_out} questions without a relevant passage left out.",) * bool(left_out),
    )


def _load_documents(name: str, files: list[Path], folder: Path) -> Dataset:
    questions: dict[str, Question] = {}
    for file in files:
        for number, row in enumerate(_read_rows(file), 1):
            question = _parse_entry(row, number, file)
            if question.id in questions:
                raise ConfigurationError(f"{file} repeats the id {question.id!r}; each must occur once.")
            questions[question.id] = question
    if not questions:
        named = ", ".join(map(str, files))
        raise ConfigurationError(f"{named} holds no question; there is nothing to evaluate.")
    ontology = folder / ONTOLOGY
    # A subfolder `documents` separates them from other files beside the questions.
    folder = folder / "documents" if (folder / "documents").is_dir() else folder
    # A file of questions must not be indexed: every arm would find the answers in it.
    excluded = {path.resolve() for path in (*files, ontology)}
    paths = (file.path for file in discover(folder) if file.path.resolve() not in excluded)
    documents = tuple(path for path in paths if not _has_questions(path))
    if not documents:
        raise ConfigurationError(
            f"No document lies beside {files[0]}; put the documents it asks about there."
        )
    return Dataset(
        name=name,
        questions=tuple(questions.values()),
        documents=documents,
        documents_folder=folder,
        corpus_digest=_digest(documents),
        questions_digest=_digest([*files, ontology]),
        ontology=ontology if ontology.is_file() else None,
    )


def _parse_entry(row: Any, number: int, file: Path) -> Question:
    """Return the question of an entry of a questions file."""
    entry = f"Entry {number} of {file}"
    if not isinstance(row, dict) or not isinstance(row.get("question"), str):
        expected = "expected an object with 'question', 'ideal_answer' and 'has_answer'"
        raise ConfigurationError(f"{entry} has no 'question'; {expected}.")
    has_answer = row.get("has_answer", True)
    if not isinstance(has_answer, bool):
        raise ConfigurationError(f"{entry} has has_answer = {has_answer!r}; expected true or false.")
    reference = _read_field(row, "ideal_answer", entry) or _read_field(row, "answer", entry)
    return _make_question(
        row,
        file,
        id=str(row.get("id", f"{file.stem}-{number}")),
        text=row["question"],
        reference=reference if has_answer else None,
        has_answer=has_answer,
        quote=_read_field(row, "quote", entry),
    )


def _read_field(row: dict[str, Any], name: str, place: str) -> str | None:
    """Return the text of a field; None if the row has none.

    Raises:
        ConfigurationError: the field is no text; the message begins with `place`.
    """
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"{place} has {name} = {value!r}; expected a text.")
    return value or None


def _make_passage(row: dict[str, Any]) -> Chunk:
    id_, title, text = row["_id"], str(row.get("title") or "").strip(), str(row["text"])
    # Some corpora repeat the title at the beginning of the text.
    if title and not text.startswith(title):
        text = f"{title}\n{text}"
    return Chunk(
        id=id_, source=id_, page=None, section=title or None, start=0, end=len(text), text=text,
        metadata={"_id": id_},
    )  # fmt: skip


def _make_question(row: dict[str, Any], file: Path, **fields: Any) -> Question:
    """Return a question with the given fields and those of the row that both layouts share."""
    label, turns = row.get("type"), row.get("history") or []
    if label is not None and str(label).lower() not in ROUTED_TYPES:
        raise ConfigurationError(f"{file} has the type {label!r}; expected one of {', '.join(ROUTED_TYPES)}.")
    for turn in turns if isinstance(turns, list) else [turns]:
        if not isinstance(turn, dict) or turn.get("role") not in ("user", "agent") or "text" not in turn:
            expected = "{'role': 'user' or 'agent', 'text': ..}"
            raise ConfigurationError(f"{file} has the history turn {turn!r}; expected {expected}.")
    question = f"{file}: the question {fields['id']!r}"
    try:
        read_question({"question": fields["text"], "history": turns})
    except InputError as error:
        raise ConfigurationError(f"{question} cannot be asked. {error}") from error
    return Question(
        user_context=_read_field(row, "user_context", question) or "",
        history=tuple(Turn(role=turn["role"], text=turn["text"]) for turn in turns),
        type=None if label is None else str(label).lower(),  # type: ignore[arg-type]
        **fields,
    )


def _read_unique_rows(file: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a file by their _id.

    Raises:
        ConfigurationError: a row lacks an _id or a text, an _id occurs twice, or there is no row.
    """
    rows: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(_read_rows(file), 1):
        for name in ("_id", "text"):
            if not isinstance(row, dict) or not isinstance(row.get(name), str):
                got = ", ".join(map(repr, row)) if isinstance(row, dict) else repr(row)
                raise ConfigurationError(f"{file}:{number} has no text field {name!r}; it has {got}.")
        if row["_id"] in rows:
            raise ConfigurationError(f"{file}:{number} repeats the _id {row['_id']!r}; each must occur once.")
        rows[row["_id"]] = row
    if not rows:
        raise ConfigurationError(f"{file} is empty; there is nothing to evaluate.")
    return rows


def _read_judgements(
    file: Path, columns: tuple[str, ...], queries: Container[str], passages: Container[str]
) -> dict[str, dict[str, list[str]]]:
    """Return the values of a file's lines: query -> passage -> values."""
    judgements: dict[str, dict[str, list[str]]] = {}
    header, *rows = [line.split("\t") for line in read_text(file).split("\n")]
    if tuple(header) != columns:
        got, expected = ", ".join(header) or "of an empty file", ", ".join(columns)
        raise ConfigurationError(f"{file} has the columns {got}; expected {expected}, separated by tabs.")
    for number, row in enumerate(rows, 2):
        if row == [""]:
            continue
        if len(row) != len(columns):
            raise ConfigurationError(f"{file}:{number} has {len(row)} columns; expected {len(columns)}.")
        query, passage, value = row
        for id_, known_ids, id_file in ((query, queries, QUERIES), (passage, passages, CORPUS)):
            if id_ not in known_ids:
                raise ConfigurationError(f"{file}:{number} names {id_!r}, which {id_file} does not hold.")
        if columns == QRELS_COLUMNS and not value.lstrip("-").isdigit():
            raise ConfigurationError(f"{file}:{number} has the score {value!r}; expected a whole number.")
        judgements.setdefault(query, {}).setdefault(passage, []).append(value)
    return judgements


def _read_rows(file: Path) -> Iterator[Any]:
    """Yield the items of a JSON list, of a JSON object of lists, or of JSON lines."""
    text = read_text(file)
    if file.suffix != ".json":
        yield from parse_lines(text, file)
        return
    content = parse_json(text, f"{file} is not JSON")
    if isinstance(content, dict) and all(isinstance(group, list) for group in content.values()):
        content = [row for group in content.values() for row in group]
    if not isinstance(content, list):
        raise ConfigurationError(f"{file} is not a list of objects, nor such lists under headings.")
    yield from content


def _has_questions(file: Path) -> bool:
    """Return whether a row of a file is a labelled question.

    Raises:
        ConfigurationError: the file is broken, and has the name of a questions file or those of its fields.
    """
    if file.suffix not in (".json", ".jsonl") or not file.is_file():
        return False
    try:
        rows = (row for row in _read_rows(file) if isinstance(row, dict) and "question" in row)
        return any(not row.keys().isdisjoint(LABELS) for row in rows)
    except ConfigurationError:
        content = file.read_bytes()
        has_names = b'"question"' in content and any(f'"{label}"'.encode() in content for label in LABELS)
        if has_names or file.stem == "questions":
            raise
        return False


def collapse_whitespace(text: str) -> str:
    """Return a text with one blank between its words."""
    return " ".join(text.split())


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
