"""The tables of the server's database; the messages of conversations are stored by the checkpointer."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedColumn, declared_attr, mapped_column, relationship

from adaptive_rag.server.roles import Role

NAME = String(200)


class JobState(StrEnum):
    """The state of a job. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class OpenTo(StrEnum):
    """Who may read a thread besides its owner and the people it is shared with by name.

    They must all be allowed to read its collections.
    """

    PEOPLE = "people"  # nobody else
    LINK = "link"  # everybody who has its address; lists do not show it
    COLLECTION = "collection"  # everybody; lists show it


class Moment(TypeDecorator[datetime]):
    """A time in UTC with its time zone, even if the database stores none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Add the time zone, which SQLite does not store."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """Return a random identifier that cannot be guessed."""
    return secrets.token_hex(16)


def _parent_id(table: str, **options: Any) -> MappedColumn[str]:
    """Return a foreign key column; a row is deleted together with the row that it refers to."""
    return mapped_column(ForeignKey(f"{table}.id", ondelete="CASCADE"), **options)


Id = Annotated[str, mapped_column(String(32), primary_key=True, default=new_id)]
CollectionId = Annotated[str, _parent_id("collections", index=True)]
UserId = Annotated[str, _parent_id("users", index=True)]
# A user; the row outlives the user.
PastUserId = Annotated[str | None, mapped_column(ForeignKey("users.id", ondelete="SET NULL"))]
Now = Annotated[datetime, mapped_column(Moment, default=now)]


def _enum_type(kind: type[StrEnum]) -> Enum:
    """Return the column type that stores the values of an enumeration."""
    return Enum(kind, native_enum=False, length=32, values_callable=lambda members: [str(m) for m in members])


class Base(DeclarativeBase):
    """The tables of the server."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    @declared_attr.directive
    def __tablename__(cls) -> str:
        """Return the name of a table: the plural of the class's name in lower case."""
        return f"{cls.__name__.lower()}s"

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Moment,
        Role: _enum_type(Role),
        OpenTo: _enum_type(OpenTo),
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON,
    }


class Installation(Base):
    """The identifier that the database shares with its data folder; one row."""

    __tablename__ = "installation"

    id: Mapped[Id]


class ModelChoice(Base):
    """The chat model that an admin of the server has set; one row at most."""

    __tablename__ = "model_choice"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    provider: Mapped[str] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(NAME)
    # the address of a server that speaks OpenAI's protocol
    address: Mapped[str | None] = mapped_column(Text)
    # its API key, encrypted together with the provider and the address that it is for
    sealed_key: Mapped[str | None] = mapped_column(Text)


class User(Base):
    """A person who may sign in, with a password or through a provider."""

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(NAME, unique=True)
    # an argon2 hash with its parameters; None for users without a password
    password: Mapped[str | None] = mapped_column(Text)
    issuer: Mapped[str | None] = mapped_column(Text)
    subject: Mapped[str | None] = mapped_column(String(255))
    # May create collections and users, and is admin of every collection.
    is_admin: Mapped[bool] = mapped_column(default=False)
    is_disabled: Mapped[bool] = mapped_column(default=False)
    created: Mapped[Now]

    __table_args__ = (UniqueConstraint("issuer", "subject"),)


class Token(Base):
    """A secret that identifies the caller of a request: an API token, or the session of a browser."""

    id: Mapped[Id]
    user_id: Mapped[UserId]
    # SHA-256 of the token, which is 256 random bits and is not stored
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(NAME)
    is_session: Mapped[bool] = mapped_column(default=False)
    # The highest role that it allows in any collection, even if its user has a higher one.
    role: Mapped[Role]
    created: Mapped[Now]
    expires: Mapped[datetime | None]
    used: Mapped[datetime | None]


class Collection(Base):
    """Documents that are searched together, in an index of their own."""

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(NAME, unique=True)
    description: Mapped[str] = mapped_column(Text, default="")
    # Example questions for its readers: {"question": ..., "user_context": ..., "type": ...}
    examples: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    # Names of deleted documents that the index may still hold: answers do not use them.
    hidden: Mapped[list[str]] = mapped_column(default=list)
    created: Mapped[Now]


class Membership(Base):
    """The role of a user in a collection."""

    collection_id: Mapped[str] = _parent_id("collections", primary_key=True)
    user_id: Mapped[str] = _parent_id("users", primary_key=True, index=True)
    role: Mapped[Role]


class Document(Base):
    """A file of a collection, or a page that was read from an address."""

    id: Mapped[Id]
    collection_id: Mapped[CollectionId]
    # the name within the collection, also used in citations: "reports/2024.pdf"
    name: Mapped[str] = mapped_column(String(1024))
    size: Mapped[int] = mapped_column(BigInteger)
    digest: Mapped[str] = mapped_column(String(64))
    # None until a job has read it
    chunks: Mapped[int | None]
    # why it, or a part of it, could not be read
    problem: Mapped[str | None] = mapped_column(Text)
    notes: Mapped[list[str]] = mapped_column(default=list)
    added_by: Mapped[PastUserId]
    added: Mapped[Now]

    __table_args__ = (UniqueConstraint("collection_id", "name"),)


class Note(Base):
    """A note of a user on words of a document; only this user sees it."""

    id: Mapped[Id]
    owner_id: Mapped[UserId]
    document_id: Mapped[str] = _parent_id("documents", index=True)
    # the name by which answers cite the text: a file of an archive has its own
    source: Mapped[str] = mapped_column(String(2000))
    # the position of the words in the text when the note was written, and the words
    start: Mapped[int]
    end: Mapped[int]
    quote: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    created: Mapped[Now]
    changed: Mapped[Now]


class Job(Base):
    """Work on a collection that continues after its request was answered."""

    id: Mapped[Id]
    collection_id: Mapped[CollectionId]
    kind: Mapped[str] = mapped_column(String(40))
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    state: Mapped[JobState] = mapped_column(String(10), default=JobState.QUEUED, index=True)
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    # one for each file that could not be read: {"document": ..., "problem": ...}
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    # why the whole job failed, in a sentence for the user who requested it
    error: Mapped[str | None] = mapped_column(Text)
    is_cancelled: Mapped[bool] = mapped_column(default=False)
    # how often it was started; a job that ends its worker too often is given up
    attempts: Mapped[int] = mapped_column(default=0)
    asked_by: Mapped[PastUserId]
    created: Mapped[Now]
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]


class Thread(Base):
    """A conversation of one user over one collection or several; the checkpointer stores its messages."""

    id: Mapped[Id]
    owner_id: Mapped[UserId]
    # the first of its collections; for the others see ThreadCollection
    collection_id: Mapped[CollectionId]
    # the first question, until the thread is renamed
    title: Mapped[str] = mapped_column(NAME, default="")
    created: Mapped[Now]
    updated: Mapped[Now]
    # when the question that is being answered was started; None if there is none
    asked: Mapped[datetime | None]
    open_to: Mapped[OpenTo] = mapped_column(default=OpenTo.PEOPLE)


class Share(Base):
    """A thread that its owner shares with a user."""

    thread_id: Mapped[str] = _parent_id("threads", primary_key=True)
    user_id: Mapped[str] = _parent_id("users", primary_key=True, index=True)
    created: Mapped[Now]


class TurnText(Base):
    """The texts of a question and its answer, to be searched; the checkpointer stores the turn itself."""

    __tablename__ = "turns"

    thread_id: Mapped[str] = _parent_id("threads", primary_key=True)
    # the id of the answer's message
    id: Mapped[str] = mapped_column(String(100), primary_key=True)
    asked: Mapped[datetime]
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text)
    # both in lower case, so that no search has to convert them
    folded: Mapped[str] = mapped_column(Text)


class ThreadCollection(Base):
    """A further collection that a thread asks. Deleting the collection deletes the thread."""

    __tablename__ = "thread_collections"

    thread_id: Mapped[str] = _parent_id("threads", primary_key=True)
    collection_id: Mapped[str] = _parent_id("collections", primary_key=True, index=True)


class Feedback(Base):
    """A user's opinion of an answer."""

    __tablename__ = "feedback"

    id: Mapped[Id]
    owner_id: Mapped[UserId]
    collection_id: Mapped[CollectionId]
    thread_id: Mapped[str | None] = mapped_column(ForeignKey("threads.id", ondelete="SET NULL"))
    question: Mapped[str] = mapped_column(Text)
    user_context: Mapped[str] = mapped_column(Text, default="")
    # the turns before it, as {"role": ..., "text": ...}
    history: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    route: Mapped[str] = mapped_column(String(40))
    # the route that the user found better, if two were compared
    better_route: Mapped[str | None] = mapped_column(String(40))
    is_good: Mapped[bool | None]
    comment: Mapped[str] = mapped_column(Text, default="")
    created: Mapped[Now]

    owner: Mapped[User] = relationship()


class Event(Base):
    """An entry of the audit log: who did what, from where. It outlives the user and the subject."""

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=now, index=True)
    user: Mapped[str | None] = mapped_column(NAME)
    address: Mapped[str | None] = mapped_column(String(64))
    # for example "collection.delete" or "sign-in.refused"
    action: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(Text, default="")


class Upload(Base):
    """The answer to a request with an Idempotency-Key, in case the request is repeated."""

    user_id: Mapped[str] = _parent_id("users", primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    # digest of the request, so that the key is refused for another upload
    digest: Mapped[str] = mapped_column(String(64))
    answer: Mapped[dict[str, Any]]
    created: Mapped[Now]
