"""Conversations and profiles in LangGraph's stores: in a SQLite file, or in the server's PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from pydantic import BaseModel, Field
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
from adaptive_rag.server.tables import Thread, TurnText, now
from adaptive_rag.state import AnswerPart, Citation, Decision
from adaptive_rag.text.redaction import redact
from adaptive_rag.text.visible import visible

_log = logging.getLogger(__name__)
FILE = "conversations.sqlite"
# What is searched of an answer; questions are shorter.
MOST_CHARACTERS_SEARCHED = 50_000
# The decisions about an answer that are marked in its text, and so are seen by everybody who may read it.
MARKED = ("unsupported", "closest")
PARTS: Any = Field(
    description="The answer in parts; their texts, joined, are the answer. Where the program speaks for "
    "itself, a part has a code and values. A mark has the index of its citation in `citations`, from 0."
)


class TurnShown(BaseModel):
    """A question of a thread with its answer."""

    id: str = Field(description="It stays while other turns are deleted.")
    number: int = Field(description="Its place in the thread, from 1.")
    question: str
    answer: str
    parts: list[AnswerPart] = PARTS
    citations: list[Citation]
    route: str
    user_context: str = Field(description="Who asked, or in what situation.")
    abstained: bool
    decisions: list[Decision] = Field(description="What was decided about the answer, as its trace had it.")
    only: Selection = Field(description="The documents that were asked.")
    asked: datetime


def title_of(question: str) -> str:
    """Return the title of a thread that begins with a question."""
    return question.strip()[:200]


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
        return _read_turns(self._read(thread_id)[1])

    def _read(self, thread_id: str) -> tuple[CheckpointTuple | None, list[AnyMessage]]:
        kept = self.saver.get_tuple(place_of(thread_id))
        return kept, list(kept.checkpoint["channel_values"].get("messages", ())) if kept else []

    def forget(self, thread_id: str) -> None:
        """Delete the messages of a thread."""
        self.saver.delete_thread(thread_id)

    def copy(self, thread_id: str, turns: int, to: str, *, is_own: bool = True) -> None:
        """Copy the first turns of a thread into another one; of another's thread, what they may see of it.

        Raises:
            Problem: 422 if the thread has fewer turns.
        """
        kept, messages = self._read(thread_id)
        ends = [at for at, message in enumerate(messages, 1) if isinstance(message, AIMessage)]
        if turns > len(ends):
            raise Problem(422, f"This thread has {len(ends)} answered questions, not {turns}.")
        if kept and turns:
            copied = messages[: ends[turns - 1]]
            self._put(kept, to, copied if is_own else [_without_private(message) for message in copied])

    async def remove_turn(self, thread_id: str, turn_id: str) -> TurnShown | None:
        """Remove a question with its answer from a thread, and return them; None if they are not there.

        Raises:
            Problem: 409 if a question of the thread is being answered.
        """
        async with self.hold(thread_id):
            removed = await run_in_threadpool(self._remove_turn, thread_id, turn_id)
            await self.saver.aprune([thread_id])  # the checkpoints before it still have the turn
        return removed

    def _remove_turn(self, thread_id: str, turn_id: str) -> TurnShown | None:
        kept, messages = self._read(thread_id)
        removed = next((turn for turn in _read_turns(messages) if turn.id == turn_id), None)
        if kept and removed:
            ends = [0, *(at for at, message in enumerate(messages, 1) if isinstance(message, AIMessage))]
            del messages[ends[removed.number - 1] : ends[removed.number]]
            self._put(kept, thread_id, messages)
        return removed

    def _put(self, kept: CheckpointTuple, thread_id: str, messages: Sequence[AnyMessage]) -> None:
        """Store a checkpoint with messages only, without the rest of the one that they come from."""
        versions = kept.checkpoint["channel_versions"]
        newer = {"messages": self.saver.get_next_version(max(versions.values()), None)}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"messages": list(messages)}, newer
        self.saver.put(place_of(thread_id), checkpoint, kept.metadata, newer)

    def write_texts(self, db: Session, thread_id: str) -> None:
        """Update the searchable texts of a thread to its present turns."""
        turns = {turn.id: turn for turn in self.turns(thread_id)}
        written = set(db.scalars(select(TurnText.id).where(TurnText.thread_id == thread_id)))
        gone = written - turns.keys()
        db.execute(delete(TurnText).where(TurnText.thread_id == thread_id, TurnText.id.in_(gone)))
        for turn in turns.values():
            if turn.id not in written:
                question, answer = visible(turn.question), visible(turn.answer[:MOST_CHARACTERS_SEARCHED])
                texts = {"question": question, "answer": answer, "folded": f"{question}\n{answer}".casefold()}
                db.add(TurnText(thread_id=thread_id, id=turn.id, asked=turn.asked, **texts))

    @asynccontextmanager
    async def hold(self, thread_id: str, question: str = "") -> AsyncIterator[None]:
        """Reserve a thread for one question, which becomes its title if it has none; 409 if it is in use.

        Without a question, the thread does not count as continued.
        """
        began = now()
        taking = asyncio.ensure_future(run_in_threadpool(self._take, thread_id, question, began))
        try:
            await asyncio.shield(taking)  # its thread goes on if the caller leaves
            # Each checkpoint holds the whole conversation, so only the newest is kept.
            await self.saver.aprune([thread_id])
            yield
            await run_in_threadpool(self._write_texts, thread_id)
        finally:
            await asyncio.wait({taking})
            await run_in_threadpool(self._free, thread_id, began)

    def _write_texts(self, thread_id: str) -> None:
        try:
            with Session(self._engine) as db:
                if db.get(Thread, thread_id) is not None:
                    self.write_texts(db, thread_id)
                    db.commit()
        except (
            SQLAlchemyError
        ) as error:  # The answer is stored all the same, and the next question writes the texts.
            _log.warning("What is searched of a thread could not be written: %s", redact(str(error))[:300])

    def _take(self, thread_id: str, question: str, began: datetime) -> None:
        earliest, latest = began - self._longest, began + self._longest  # the clock may have been set back
        is_free = or_(Thread.asked.is_(None), Thread.asked < earliest, Thread.asked > latest)
        title = case((Thread.title == "", title_of(question)), else_=Thread.title)
        with Session(self._engine) as db:
            taken = update(Thread).where(Thread.id == thread_id, is_free)
            values = taken.values(asked=began, **({"updated": began, "title": title} if question else {}))
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
            # An index cannot be built concurrently within a transaction, and nobody reads these tables yet.
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
                id=message.id or "",
                number=len(turns) + 1,
                question=question,
                answer=message.text,
                parts=facts["parts"],
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


def _without_private(message: AnyMessage) -> AnyMessage:
    """Return a message without what only the owner of its thread may see."""
    facts = dict(message.response_metadata)
    if facts:
        facts |= {"user_context": "", "decisions": marked(facts.get("decisions", []))}
    return message.model_copy(update={"response_metadata": facts})


def marked(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions that are marked in the text of an answer."""
    return [decision for decision in decisions if decision["what"] in MARKED]
