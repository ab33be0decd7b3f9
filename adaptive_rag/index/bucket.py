"""A bucket as the location of an index; writes can fail if another process has written meanwhile."""

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
# Failed requests are retried, and a store that is down is reported after some seconds.
RETRIES, RETRY_SECONDS = 5, 20
# Parts of the error messages of stores and networks, with their meaning and the remedy.
REFUSALS = {
    # the address where a cloud machine offers the credentials of its role
    "169.254.169.254": "no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; those of "
    'the AWS command line are set by: eval "$(aws configure export-credentials --format env)"',
    "ExpiredToken": "the credentials have expired. Get new ones, with their AWS_SESSION_TOKEN",
    "InvalidToken": "the AWS_SESSION_TOKEN is not valid. Get new credentials",
    "InvalidAccessKeyId": "the store does not know this AWS_ACCESS_KEY_ID",
    "SignatureDoesNotMatch": "the AWS_SECRET_ACCESS_KEY does not belong to the AWS_ACCESS_KEY_ID",
    "NoSuchBucket": "there is no such bucket. Create it first, or correct its name",
    "ContainerNotFound": "there is no such container. Create it first, or correct its name",
    **dict.fromkeys(
        ("AuthenticationFailed", "AuthorizationFailure"),
        "the store refuses these credentials. Check AZURE_STORAGE_ACCOUNT_KEY and its permissions",
    ),
    "PermanentRedirect": "the bucket is in another region. Set AWS_REGION to its region",
    "NotImplemented": "the store cannot write under a condition (If-Match), which an index needs",
    "AccessDenied": "these credentials do not allow it. Searching needs the rights to list and read, "
    "indexing also those to write and delete",
    "403 Forbidden": "the store refuses these credentials. Check AWS_ACCESS_KEY_ID and its permissions",
    "error sending request": "nothing answers there. Check the network and AWS_ENDPOINT_URL",
    "HTTP error": "the connection broke off. Check the network and AWS_ENDPOINT_URL",
}

# The state of an object, for the next conditional write; None if there is no object.
Tag: TypeAlias = "UpdateVersion | None"


class ChangedError(Exception):
    """Another process has written an object since it was read; nothing was overwritten."""


class Bucket:
    """A prefix in an object store.

    Its methods raise IndexUnreachableError if the store does not answer or denies access.
    """

    path = None
    taken_over = False
    """Whether another process has taken over the write lock, because this one did not renew its lease."""

    def __init__(self, uri: str) -> None:
        """Check the URI; no request is sent yet."""
        scheme = uri.partition("://")[0]
        if scheme not in SCHEMES:
            raise ConfigurationError(
                f"index = {uri!r} cannot hold an index: expected a folder, or a bucket such as "
                f"{' or '.join(f'{scheme}://bucket/kb' for scheme in SCHEMES)}."
            )
        # The package is imported first. If two threads imported the submodule at once, one could see the
        # package half loaded.
        import_extra("obstore", extra="s3", purpose="An index in a bucket")
        stores = import_extra("obstore.store", extra="s3", purpose="An index in a bucket")
        self.uri = uri.rstrip("/")
        retry = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
        with self._translating_errors():
            self._store = stores.from_url(self.uri, retry_config=retry, client_options={"allow_http": True})

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None if there is none."""
        return self.read_tagged(name)[0]

    def read_tagged(self, name: str) -> tuple[bytes | None, Tag]:
        """Return the content of an object and the tag for overwriting it; both None if there is none."""
        with self._translating_errors():
            try:
                response = self._store.get(name)
                return bytes(response.bytes()), _tag(response.meta)
            except FileNotFoundError as error:
                if explain_refusal(error):  # the bucket is missing, not the object
                    raise unreachable_error(self.uri, error) from error
                return None, None

    def write(self, name: str, content: bytes) -> None:
        """Write an object, and replace what was there."""
        with self._translating_errors():
            self._store.put(name, content, use_multipart=False)

    def swap(self, name: str, content: bytes, tag: Tag) -> Tag:
        """Write an object if it has not changed since it was read, and return its new tag.

        Raises:
            ChangedError: another process has written or removed it meanwhile.
        """
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            with self._translating_errors():
                return _tag(self._store.put(name, content, mode="create" if tag is None else tag))
        except (AlreadyExistsError, PreconditionError, IndexUnreachableError, FileNotFoundError) as error:
            # after a lost response, the request is sent again, and finds the object that it wrote itself
            stored, stored_tag = self.read_tagged(name)
            if stored == content:
                return stored_tag
            if isinstance(error, (BaseError, FileNotFoundError)):
                raise ChangedError(name) from error
            raise

    def stamp(self, name: str) -> Hashable:
        """Return the tag, version and time of an object, which change with it; None if there is none."""
        from obstore.exceptions import BaseError

        try:
            meta = self._store.head(name)
        except FileNotFoundError:
            return None
        except BaseError:
            # a refused HEAD request has no reason; the GET request of `read` raises an error with it
            self.read(name)
            raise
        return meta["e_tag"], meta["version"], meta["last_modified"]

    def names(self, folder: str = "") -> list[str]:
        """Return the names under the prefix, or under a prefix below it."""
        with self._translating_errors():
            listing = self._store.list_with_delimiter(f"{folder}/" if folder else None)
        paths = [*listing["common_prefixes"], *(entry["path"] for entry in listing["objects"])]
        return sorted(path.rpartition("/")[2] for path in paths)

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the sizes in bytes of the objects that exist."""
        wanted = set(names)
        sizes: dict[str, int] = {}
        with self._translating_errors():
            # a request that lists a thousand objects takes as long as one for a single object
            for batch in self._store.list() if wanted else ():
                sizes.update((entry["path"], entry["size"]) for entry in batch if entry["path"] in wanted)
        return sizes

    def pieces(self, name: str) -> Iterator[Buffer]:
        """Yield the content of an object in pieces."""
        with self._translating_errors():
            yield from self._store.get(name).stream(min_chunk_size=PIECE)

    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""
        with self._translating_errors(), suppress(FileNotFoundError):
            self._store.delete(name)

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Turn errors of the store into IndexUnreachableError, except those that a caller handles."""
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise
        except BaseError as error:
            raise unreachable_error(self.uri, error) from error


def _tag(meta: Mapping[str, Any]) -> Tag:
    # S3 and Azure use the e_tag, Google uses the version
    tag: UpdateVersion = {"e_tag": meta["e_tag"]}
    return {**tag, "version": meta["version"]} if meta["version"] else tag


def explain_refusal(error: BaseException) -> str:
    """Return the meaning of a store's error and the remedy; empty if unknown."""
    message = str(error)
    return next((explanation for part, explanation in REFUSALS.items() if part in message), "")


def unreachable_error(uri: str, error: BaseException) -> IndexUnreachableError:
    """Return an error that says why a bucket cannot be reached."""
    reason = explain_refusal(error) or str(error).splitlines()[0]
    return IndexUnreachableError(f"The index {uri} cannot be reached: {reason}.")
