"""A bucket as the home of an index: objects, and writes that hold only where nobody has written meanwhile."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import Buffer

from adaptive_rag.errors import ConfigurationError, IndexUnreachableError, import_extra

if TYPE_CHECKING:
    from obstore import UpdateVersion

PIECE = 2**20
SCHEMES = ("s3", "gs", "az")
# A store that is gone is named after some seconds, and one that stumbles is asked again.
RETRIES, RETRY_SECONDS = 5, 20
# By a part of a store's or network's error message: its meaning, and how to mend it.
REFUSALS = {
    # where a rented machine is asked for the credentials of its role
    "169.254.169.254": "no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; those of "
    'the AWS command line are set by: eval "$(aws configure export-credentials --format env)"',
    "ExpiredToken": "the credentials have expired. Get new ones, with their AWS_SESSION_TOKEN",
    "InvalidToken": "the AWS_SESSION_TOKEN is not valid. Get new credentials",
    "InvalidAccessKeyId": "the store does not know this AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "the AWS_SECRET_ACCESS_KEY does not belong to the AWS_ACCESS_KEY_ID",
    "NoSuchBucket": "there is no such bucket. Make it first, or correct its name",
    "ContainerNotFound": "there is no such container. Make it first, or correct its name",
    **dict.fromkeys(
        ("AuthenticationFailed", "AuthorizationFailure"),
        "the store refuses these credentials. Look at AZURE_STORAGE_ACCOUNT_KEY and what it may do",
    ),
    "PermanentRedirect": "the bucket lies in another region. Set AWS_REGION to its region",
    "NotImplemented": "the store cannot write under a condition (If-Match), which an index needs",
    "AccessDenied": "these credentials do not allow it. Searching needs the rights to list and read, "
    "indexing also those to write and delete",
    "403 Forbidden": "the store refuses these credentials. Look at AWS_ACCESS_KEY_ID and what it may do",
    "error sending request": "nothing answers there. Look at the network and at AWS_ENDPOINT_URL",
    "HTTP error": "the connection broke off. Look at the network and at AWS_ENDPOINT_URL",
}

# The state of an object, for the next conditional write; None where there is no object.
Tag: TypeAlias = "UpdateVersion | None"


class ChangedError(Exception):
    """An object was written by somebody else since it was read; it is as they wrote it."""


class Bucket:
    """A prefix in an object store.

    Its methods raise IndexUnreachableError where the store does not answer, or refuses.
    """

    path = None
    taken_over = False
    """Whether another process took over writing, because this one did not renew its lease."""

    def __init__(self, uri: str) -> None:
        """Name the place; nothing is asked of the store yet.

        Raises:
            ConfigurationError: it is of no kind that can hold an index.
            MissingExtraError: the package `obstore` is not installed.
        """
        scheme = uri.partition("://")[0]
        if scheme not in SCHEMES:
            raise ConfigurationError(
                f"index = {uri!r} is in no place that can hold an index: expected a folder, or a bucket "
                "such as s3://bucket/kb, gs://bucket/kb or az://container/kb."
            )
        # The whole first: of two threads that import a part of it at once, one would see the whole half made.
        import_extra("obstore", extra="s3", purpose="An index in a bucket")
        stores = import_extra("obstore.store", extra="s3", purpose="An index in a bucket")
        self.uri = uri.rstrip("/")
        retry = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
        with self._asking():
            self._store = stores.from_url(self.uri, retry_config=retry, client_options={"allow_http": True})

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None where there is none."""
        return self.read_tagged(name)[0]

    def read_tagged(self, name: str) -> tuple[bytes | None, Tag]:
        """Return the content of an object, and the tag to write over it by; both None where there is none."""
        with self._asking():
            try:
                found = self._store.get(name)
                return bytes(found.bytes()), _tag(found.meta)
            except FileNotFoundError as error:
                if refusal(error):  # not the object is missing, but the bucket
                    raise unreachable(self.uri, error) from error
                return None, None

    def write(self, name: str, content: bytes) -> None:
        """Put one object, whatever was there."""
        with self._asking():
            self._store.put(name, content, use_multipart=False)

    def swap(self, name: str, content: bytes, tag: Tag) -> Tag:
        """Put one object where it is still as it was when it was read, and return its new tag.

        Raises:
            ChangedError: somebody else has written it meanwhile, or has removed it.
        """
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            with self._asking():
                return _tag(self._store.put(name, content, mode="create" if tag is None else tag))
        except (AlreadyExistsError, PreconditionError, IndexUnreachableError, FileNotFoundError) as error:
            # Where an answer was lost on its way, the request is sent again and meets its own object.
            found, present = self.read_tagged(name)
            if found == content:
                return present
            if isinstance(error, (BaseError, FileNotFoundError)):
                raise ChangedError(name) from error
            raise

    def stamp(self, name: str) -> Hashable:
        """Return what changes with the object; None where there is none."""
        from obstore.exceptions import BaseError

        try:
            meta = self._store.head(name)
        except FileNotFoundError:
            return None
        except BaseError:
            # This kind of request is refused without a reason; the other kind says it.
            self.read(name)
            raise
        return meta["e_tag"], meta["version"], meta["last_modified"]

    def names(self, folder: str = "") -> list[str]:
        """Return the names of what lies under the prefix, or under one below it."""
        with self._asking():
            found = self._store.list_with_delimiter(f"{folder}/" if folder else None)
        paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return sorted(path.rpartition("/")[2] for path in paths)

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of those objects that are there."""
        asked = set(names)
        found: dict[str, int] = {}
        with self._asking():
            # a list of a thousand costs as much as one object alone
            for batch in self._store.list() if asked else ():
                found.update((each["path"], each["size"]) for each in batch if each["path"] in asked)
        return found

    def pieces(self, name: str) -> Iterator[Buffer]:
        """Go through the content of an object."""
        with self._asking():
            yield from self._store.get(name).stream(min_chunk_size=PIECE)

    def remove(self, name: str) -> None:
        """Remove an object; it may be missing."""
        with self._asking(), suppress(FileNotFoundError):
            self._store.delete(name)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Translate the store's errors, but for those that a caller handles."""
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise
        except BaseError as error:
            raise unreachable(self.uri, error) from error


def _tag(meta: Mapping[str, Any]) -> Tag:
    # S3 and Azure go by the one, Google by the other
    tag: UpdateVersion = {"e_tag": meta["e_tag"]}
    return {**tag, "version": meta["version"]} if meta["version"] else tag


def refusal(error: BaseException) -> str:
    """Return what a store's error means and how it is mended; empty where that is not known."""
    said = str(error)
    return next((plain for sign, plain in REFUSALS.items() if sign in said), "")


def unreachable(uri: str, error: BaseException) -> IndexUnreachableError:
    """Return the error that says why a bucket does not do as asked."""
    what = refusal(error) or str(error).splitlines()[0]
    return IndexUnreachableError(f"The index {uri} cannot be reached: {what}.")
