"""Conversations and profiles in LangGraph's stores: in a SQLite file, or in the server's PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import BaseModel, Field
from sqlalchemy import Connection, Engine, case, or_, update
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from adaptive_rag.conversation import open_sqlite, strict_serializer
from adaptive_rag.errors import ConfigurationError, import_extra
from adaptive_rag.private import make_file
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.selection import Selection
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Thread, now
from adaptive_rag.state import Citation, Decision
from adaptive_rag.text.markdown import sub_in_prose
from adaptive_rag.text.markers import MARKER, find_markers, number_of, write_marker
from adaptive_rag.text.redaction import redact

FILE = "conversations.sqlite"


class TurnShown(BaseModel):
    """A question of a thread with its answer."""

    number: int = Field(description="Its place in the thread, from 1.")
    question: str
    answer: str
    citations: list[Citation]
    route: str
    user_context: str = Field(description="Who asked, or in what situation.")
    abstained: bool
    decisions: list[Decision] = Field(description="What was decided about the answer, as its trace had it.")
    only: Selection = Field(description="The documents that were asked.")
    asked: datetime


def place_of(thread_id: str) -> RunnableConfig:
    """Return the config under which the checkpointer stores a thread."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


class Conversations:
    """The messages of each thread, by the thread's id, and the profiles of users, by theirs."""

    def __init__(
        self, saver: BaseCheckpointSaver[Any], store: BaseStore, engine: Engine, max_seconds: float
    ) -> None:
        self.saver = saver
        self.store = store
        self._engine = engine
        # A thread that an interrupted server held is free once no question can still be running.
        self._longest = timedelta(seconds=max_seconds + 10)

    def turns(self, thread_id: str) -> list[TurnShown]:
        """Return the questions of a thread with their answers, oldest first."""
        kept = self.saver.get_tuple(place_of(thread_id))
        return _read_turns(kept.checkpoint["channel_values"].get("messages", ())) if kept else []

    def forget(self, thread_id: str) -> None:
        """Delete the messages of a thread."""
        self.saver.delete_thread(thread_id)

    def copy(self, thread_id: str, turns: int, to: str) -> None:
        """Copy the first turns of a thread into another one.

        Raises:
            Problem: 422 if the thread has fewer turns.
        """
        kept = self.saver.get_tuple(place_of(thread_id))
        messages = kept.checkpoint["channel_values"].get("messages", ()) if kept else ()
        ends = [at for at, message in enumerate(messages, 1) if isinstance(message, AIMessage)]
        if turns > len(ends):
            raise Problem(422, f"This thread has {len(ends)} answered questions, not {turns}.")
        if not kept or not turns:
            return
        checkpoint = kept.checkpoint
        checkpoint["channel_values"] = {"messages": messages[: ends[turns - 1]]}
        self.saver.put(place_of(to), checkpoint, kept.metadata, checkpoint["channel_versions"])

    @asynccontextmanager
    async def hold(self, thread_id: str, question: str) -> AsyncIterator[None]:
        """Reserve a thread for one question, which becomes its title if it has none; 409 if it is in use."""
        began = now()
        try:
            await run_in_threadpool(self._take, thread_id, question, began)
            # Each checkpoint holds the whole conversation, so only the newest is kept.
            await self.saver.aprune([thread_id])
            yield
        finally:
            await run_in_threadpool(self._free, thread_id, began)

    def _take(self, thread_id: str, question: str, began: datetime) -> None:
        earliest, latest = began - self._longest, began + self._longest  # the clock may have been set back
        is_free = or_(Thread.asked.is_(None), Thread.asked < earliest, Thread.asked > latest)
        title = case((Thread.title == "", question.strip()[:200]), else_=Thread.title)
        with Session(self._engine) as db:
            taken = update(Thread).where(Thread.id == thread_id, is_free)
            values = taken.values(asked=began, updated=began, title=title)
            is_taken = db.scalar(values.returning(Thread.id)) is not None
            db.commit()
        if not is_taken:
            detail = "A question of this thread is being answered. Wait for its answer."
            raise Problem(409, detail, type="thread_busy")

    def _free(self, thread_id: str, began: datetime) -> None:
        with Session(self._engine) as db:
            db.execute(update(Thread).where(Thread.id == thread_id, Thread.asked == began).values(asked=None))
            db.commit()
            is_deleted = db.get(Thread, thread_id) is None
        if is_deleted:
            self.forget(thread_id)


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

    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, **postgres.GIVE_UP}
    pool: Any = AsyncConnectionPool(
        address,
        connection_class=postgres.AsyncPatientConnection,
        kwargs=options,
        open=False,
        check=AsyncConnectionPool.check_connection,
        timeout=postgres.SECONDS_FOR_A_PLACE,
    )
    try:
        await pool.open(wait=True)
    except PoolTimeout as error:
        raise ConfigurationError(f"server.database cannot be reached: {redact(str(error))}.") from error
    stack.push_async_callback(pool.close)
    saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
    saver.lock = nullcontext()  # type: ignore[assignment]  # each call has its own connection
    with postgres.changing_tables():
        await saver.setup()
        await store.setup()
    return saver, store


@contextmanager
def write_conversations(
    settings: ServerSettings, connection: Connection
) -> Iterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
    """Create the conversation tables; yield the saver and store that write in the transaction."""
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
            # What is built concurrently cannot be part of a transaction, and nobody reads these tables yet.
            part.MIGRATIONS = [step.replace(" CONCURRENTLY ", " ") for step in part.MIGRATIONS]
            part.setup()
        yield saver, store
    except Error as error:
        raise ConfigurationError(f"server.database cannot be used: {redact(str(error))[:300]}.") from error


class _SqliteSaver(AsyncSqliteSaver):
    """The saver for SQLite, with the pruning of old checkpoints that it lacks."""

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of each thread, those of interrupted strategies included."""
        newest = "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns='')"
        older = f"thread_id = :thread AND (checkpoint_ns <> '' OR checkpoint_id < {newest})"
        async with self.lock:
            for thread_id in thread_ids:
                await self.conn.execute(f"DELETE FROM writes WHERE {older}", {"thread": thread_id})
                await self.conn.execute(f"DELETE FROM checkpoints WHERE {older}", {"thread": thread_id})
            await self.conn.commit()


def _read_turns(messages: Iterable[AnyMessage]) -> list[TurnShown]:
    turns: list[TurnShown] = []
    question = ""
    for message in messages:
        if isinstance(message, HumanMessage):
            question = message.text
        elif isinstance(message, AIMessage):
            facts = message.response_metadata
            turn = TurnShown(
                number=len(turns) + 1,
                question=question,
                answer=message.text,
                citations=facts["citations"],
                route=facts["query_type"],
                user_context=facts.get("user_context", ""),
                abstained=facts["abstained"],
                decisions=facts.get("decisions", []),
                only=Selection.model_validate(facts.get("kept", {}).get("only", {})),
                asked=datetime.fromtimestamp(facts["asked_at"], UTC),
            )
            turns.append(turn)
    return turns


def format_markdown(title: str, turns: Sequence[TurnShown]) -> str:
    """Return a thread as Markdown, each answer with its citations.

    The markers of an answer are numbered from 1 in the order of its text, whatever passages they stand for.
    """
    lines = [f"# {title}"]
    for turn in turns:
        cited = [citation["marker"] for citation in turn.citations]
        written = [marker for marker in find_markers(turn.answer) if marker in cited]
        numbers = {marker: number for number, marker in enumerate(dict.fromkeys(written + cited), 1)}
        answer = sub_in_prose(MARKER, partial(_renumber, numbers), turn.answer)
        lines += ["", f"## {turn.question}", "", answer, ""]
        for citation in sorted(turn.citations, key=lambda each: numbers[each["marker"]]):
            page = f", page {citation['page']}" if citation["page"] is not None else ""
            number = write_marker(numbers[citation["marker"]])
            lines.append(f"- {number} {citation['source']}{page}: “{citation['quote']}”")
    return "\n".join(lines) + "\n"


def _renumber(numbers: Mapping[int, int], mark: re.Match[str]) -> str:
    number = number_of(mark[0])
    return write_marker(numbers.get(number, number))
