"""Conversations and profiles in LangGraph's stores: in a SQLite file, or in the PostgreSQL of the server."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import Field
from sqlalchemy import Connection, Engine, case, delete, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from adaptive_rag.conversation import open_sqlite, strict_serializer
from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.private import make_file
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.shown import Quality, quality_of
from adaptive_rag.server.tables import Thread, TurnText, now
from adaptive_rag.state import AnswerPart, Citation, Decision
from adaptive_rag.text.redaction import redact
from adaptive_rag.text.visible import visible

_log = logging.getLogger(__name__)
Result = TypeVar("Result")
FILE = "conversations.sqlite"
# Only so many characters of an answer can be searched. Questions are shorter.
MOST_CHARACTERS_SEARCHED = 50_000
# Decisions that everybody who reads an answer may see, because the answer itself is marked with them.
PUBLIC_DECISIONS = ("unsupported", "closest")
PARTS: Any = Field(
    description="The answer in parts; their joined texts are the answer. A part that the program itself says "
    "has a code and values. A marker has the index of its citation in `citations`, from 0."
)


class TurnShown(Quality):
    """A question of a thread with its answer."""

    id: str = Field(description="It does not change when other turns are deleted.")
    number: int = Field(description="Its number in the thread, from 1.")
    question: str
    answer: str
    parts: list[AnswerPart] = PARTS
    citations: list[Citation]
    route: str
    user_context: str = Field(description="Who asked, or in what situation.")
    decisions: list[Decision] = Field(description="The decisions about the answer, from its trace.")
    only: Selection = Field(description="The documents that were searched.")
    asked: datetime


def make_title(question: str) -> str:
    """Return the title of a thread that begins with a question."""
    return question.strip()[:200]


def thread_config(thread_id: str) -> RunnableConfig:
    """Return the config by which the checkpointer finds a thread."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


class Conversations:
    """The messages of threads by thread id, and the profiles of users by user id."""

    def __init__(
        self, saver: BaseCheckpointSaver[Any], store: BaseStore, engine: Engine, max_seconds: float
    ) -> None:
        self.saver = saver
        self.store = store
        self._engine = engine
        # After a crash, a reserved thread becomes free when its question would have timed out.
        self._max_duration = timedelta(seconds=max_seconds + 10)

    def turns(self, thread_id: str) -> list[TurnShown]:
        """Return the questions of a thread with their answers, oldest first."""
        return _read_turns(self._load(thread_id)[1])

    def _load(self, thread_id: str) -> tuple[CheckpointTuple | None, list[AnyMessage]]:
        stored = self.saver.get_tuple(thread_config(thread_id))
        return stored, list(stored.checkpoint["channel_values"].get("messages", ())) if stored else []

    def forget(self, *thread_ids: str) -> None:
        """Delete the messages of threads in one transaction: meanwhile the caller locks the other tables."""
        self.saver.prune(thread_ids, strategy="delete")

    def copy(self, thread_id: str, turns: int, to: str, *, is_own: bool) -> None:
        """Copy the first turns of a thread into another; without private fields if it is another user's."""
        stored, messages = self._load(thread_id)
        ends = _turn_ends(messages)
        if turns > len(ends):
            raise Problem(422, f"This thread has {len(ends)} answered questions, not {turns}.")
        if stored and turns:
            copied = messages[: ends[turns - 1]]
            if not is_own:
                copied = [_remove_private(message) for message in copied]
            self._store_messages(stored, to, copied)

    async def remove_turn(self, thread_id: str, turn_id: str) -> TurnShown | None:
        """Remove a turn from a thread and return it; None if the thread has no such turn."""
        async with self.reserve(thread_id):
            removed = await run_in_threadpool(self._remove_stored_turn, thread_id, turn_id)
            await self.saver.aprune([thread_id])  # earlier checkpoints still have the turn
        return removed

    def _remove_stored_turn(self, thread_id: str, turn_id: str) -> TurnShown | None:
        stored, messages = self._load(thread_id)
        removed = next((turn for turn in _read_turns(messages) if turn.id == turn_id), None)
        if stored and removed:
            ends = [0, *_turn_ends(messages)]
            del messages[ends[removed.number - 1] : ends[removed.number]]
            self._store_messages(stored, thread_id, messages)
        return removed

    def _store_messages(
        self, stored: CheckpointTuple, thread_id: str, messages: Sequence[AnyMessage]
    ) -> None:
        """Store a checkpoint with only these messages; versions and metadata follow the stored one."""
        versions = stored.checkpoint["channel_versions"]
        newer = {"messages": self.saver.get_next_version(max(versions.values()), None)}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"messages": list(messages)}, newer
        self.saver.put(thread_config(thread_id), checkpoint, stored.metadata, newer)

    def write_texts(self, db: Session, thread_id: str) -> None:
        """Update the searchable texts of a thread to its turns, without committing."""
        turns = {turn.id: turn for turn in self.turns(thread_id)}
        stored_ids = set(db.scalars(select(TurnText.id).where(TurnText.thread_id == thread_id)))
        deleted_ids = stored_ids - turns.keys()
        db.execute(delete(TurnText).where(TurnText.thread_id == thread_id, TurnText.id.in_(deleted_ids)))
        for turn in turns.values():
            if turn.id not in stored_ids:
                question, answer = visible(turn.question), visible(turn.answer[:MOST_CHARACTERS_SEARCHED])
                texts = {"question": question, "answer": answer, "folded": f"{question}\n{answer}".casefold()}
                db.add(TurnText(thread_id=thread_id, id=turn.id, asked=turn.asked, **texts))

    @asynccontextmanager
    async def reserve(self, thread_id: str, question: str = "") -> AsyncIterator[None]:
        """Reserve a thread during the block; refuse (409) if a question of it is being answered.

        A question becomes the title of a thread without one, and counts as its latest use.
        """
        started = now()
        reservation = asyncio.ensure_future(run_in_threadpool(self._reserve, thread_id, question, started))
        try:
            await asyncio.shield(reservation)  # a worker thread goes on when the caller disconnects
            # Each checkpoint holds the whole conversation, so only the newest is kept.
            await self.saver.aprune([thread_id])
            yield
            await run_in_threadpool(self._write_texts, thread_id)
        finally:
            await asyncio.wait({reservation})
            reservation.exception()  # a caller who has left need not know, and nor does the log
            await run_in_threadpool(self._release, thread_id, started)

    def _write_texts(self, thread_id: str) -> None:
        try:
            with Session(self._engine) as db:
                if db.get(Thread, thread_id) is not None:
                    self.write_texts(db, thread_id)
                    db.commit()
        except SQLAlchemyError as error:  # the answer is stored, and the next question writes the texts
            _log.warning(
                "The searchable texts of a thread could not be written: %s", redact(str(error))[:300]
            )

    def _reserve(self, thread_id: str, question: str, started: datetime) -> None:
        # An old reservation has timed out. One from the future shows that the clock was set back.
        earliest, latest = started - self._max_duration, started + self._max_duration
        is_free = or_(Thread.asked.is_(None), Thread.asked < earliest, Thread.asked > latest)
        title = case((Thread.title == "", make_title(question)), else_=Thread.title)
        with Session(self._engine) as db:
            values = {"asked": started} | ({"updated": started, "title": title} if question else {})
            query = update(Thread).where(Thread.id == thread_id, is_free).values(**values)
            is_reserved = db.scalar(query.returning(Thread.id)) is not None
            db.commit()
        if not is_reserved:
            detail = "A question of this thread is being answered. Wait for its answer."
            raise Problem(409, detail, type="thread_busy")

    def _release(self, thread_id: str, started: datetime) -> None:
        with Session(self._engine) as db:
            db.execute(
                update(Thread).where(Thread.id == thread_id, Thread.asked == started).values(asked=None)
            )
            db.commit()
            is_deleted = db.get(Thread, thread_id) is None
        if is_deleted:
            self.forget(thread_id)


def check_conversations(settings: ServerSettings) -> None:
    """Create the file of conversations if it is missing; raise ConfigurationError if it cannot be opened."""
    if settings.database is None:
        file = settings.data / FILE
        try:
            with open_sqlite(file):
                pass
        except (OSError, sqlite3.DatabaseError) as error:
            raise ConfigurationError(
                f"The conversations in {str(file)!r} cannot be opened: {error}. Nothing of them was changed. "
                "Restore a backup into another folder with adaptive-rag restore; or move this file away with "
                f"its companions ({FILE}-wal, {FILE}-shm), and the server begins without conversations."
            ) from error


@asynccontextmanager
async def open_conversations(settings: ServerSettings, engine: Engine) -> AsyncIterator[Conversations]:
    """Open the conversations; create their tables if they are missing."""
    async with AsyncExitStack() as stack:
        if settings.database is None:
            file = settings.data / FILE
            make_file(file)
            saver: Any = await stack.enter_async_context(_SqliteSaver.from_conn_string(str(file)))
            store: Any = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(str(file)))
            await saver.setup()
            await store.setup()
        else:
            saver, store = await _open_postgres(settings.database.get_secret_value(), stack)
        saver.serde = strict_serializer()
        yield Conversations(saver, store, engine, settings.max_seconds)


async def _open_postgres(address: str, stack: AsyncExitStack) -> tuple[BaseCheckpointSaver[Any], BaseStore]:
    import_extra("psycopg_pool", extra="postgres", purpose="Keeping threads in PostgreSQL")
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.store.postgres.aio import AsyncPostgresStore
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool, PoolTimeout

    from adaptive_rag.server import postgres

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, **postgres.TIMEOUTS}
    pool: Any = AsyncConnectionPool(
        address,
        connection_class=postgres.AsyncPatientConnection,
        kwargs=options,
        open=False,
        check=AsyncConnectionPool.check_connection,
        timeout=postgres.POOL_SECONDS,
    )
    try:
        await pool.open(wait=True)
    except PoolTimeout as error:
        raise ConfigurationError(f"server.database cannot be reached: {redact(str(error))}.") from error
    stack.push_async_callback(pool.close)
    saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
    saver.lock = nullcontext()  # type: ignore[assignment]  # no lock: each call has its own connection
    with postgres.allow_slow_statements():
        await saver.setup()
        await store.setup()
    return saver, store


@contextmanager
def write_conversations(
    settings: ServerSettings, connection: Connection
) -> Iterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
    """Create the tables of conversations; yield a saver and a store that write in the transaction."""
    if settings.database is None:
        with open_sqlite(settings.data / FILE) as conversations:
            yield conversations
        return
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.store.postgres import PostgresStore
    from psycopg import Error

    driver: Any = connection.connection.driver_connection
    saver, store = PostgresSaver(driver, serde=strict_serializer()), PostgresStore(driver)
    try:
        for part in (saver, store):
            # PostgreSQL builds no index concurrently within a transaction; nobody reads these tables yet.
            part.MIGRATIONS = [step.replace(" CONCURRENTLY ", " ") for step in part.MIGRATIONS]
            part.setup()
        yield saver, store
    except Error as error:
        raise ConfigurationError(f"server.database cannot be used: {redact(str(error))[:300]}.") from error


class _SqliteSaver(AsyncSqliteSaver):
    """LangGraph's saver for SQLite, which can prune checkpoints, and never leaves a write half done.

    An open transaction would lock the file for all others.
    """

    async def aput(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        """Store a checkpoint."""
        return await self._finish(super().aput(*args, **kwargs))

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        """Store intermediate writes."""
        await self._finish(super().aput_writes(*args, **kwargs))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what `aprune` does, from a worker thread."""
        asyncio.run_coroutine_threadsafe(self.aprune(thread_ids, strategy=strategy), self.loop).result()

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the checkpoints of threads ("delete"), or all but the newest one of each ("keep_latest").

        Those that interrupted subgraphs left are deleted too.
        """
        await self._finish(self._prune(thread_ids, strategy))

    async def _prune(self, thread_ids: Sequence[str], strategy: str) -> None:
        newest = "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns='')"
        is_older = f"(checkpoint_ns <> '' OR checkpoint_id < {newest})"
        deleted = "thread_id = :thread" + (f" AND {is_older}" if strategy == "keep_latest" else "")
        async with self.lock:
            for thread_id in thread_ids:
                await self.conn.execute(f"DELETE FROM writes WHERE {deleted}", {"thread": thread_id})
                await self.conn.execute(f"DELETE FROM checkpoints WHERE {deleted}", {"thread": thread_id})
            await self.conn.commit()

    async def _finish(self, write: Coroutine[Any, Any, Result]) -> Result:
        """Await a write, which goes on if its caller is cancelled, and is undone if it fails."""
        task = asyncio.ensure_future(self._undo_if_failed(write))
        try:
            return await asyncio.shield(task)
        finally:
            await asyncio.wait({task})

    async def _undo_if_failed(self, write: Coroutine[Any, Any, Result]) -> Result:
        try:
            return await write
        except Exception:
            async with self.lock:
                await self.conn.rollback()
            raise


def _turn_ends(messages: Sequence[AnyMessage]) -> list[int]:
    """Return the number of messages up to the end of each turn."""
    return [number for number, message in enumerate(messages, 1) if isinstance(message, AIMessage)]


def _read_turns(messages: Iterable[AnyMessage]) -> list[TurnShown]:
    turns: list[TurnShown] = []
    question = ""
    for message in messages:
        if isinstance(message, HumanMessage):
            question = message.text
        elif isinstance(message, AIMessage):
            metadata = message.response_metadata
            turn = TurnShown(
                id=message.id or "",
                number=len(turns) + 1,
                question=question,
                answer=message.text,
                parts=metadata["parts"],
                citations=metadata["citations"],
                route=metadata["query_type"],
                user_context=metadata.get("user_context", ""),
                **quality_of(metadata),
                decisions=metadata.get("decisions", []),
                only=Selection.model_validate(metadata.get("kept", {}).get("only", {})),
                asked=datetime.fromtimestamp(metadata["asked_at"], UTC),
            )
            turns.append(turn)
    return turns


def _remove_private(message: AnyMessage) -> AnyMessage:
    """Return a message without the fields that only the owner of its thread may see."""
    metadata = dict(message.response_metadata)
    if metadata:
        metadata |= {"user_context": "", "decisions": public_decisions(metadata.get("decisions", []))}
    return message.model_copy(update={"response_metadata": metadata})


def public_decisions(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions that everybody who reads the answer may see."""
    return [decision for decision in decisions if decision["what"] in PUBLIC_DECISIONS]
