"""The collection of sample documents that `adaptive-rag serve --demo` starts with."""

from __future__ import annotations

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from adaptive_rag.context import Context
from adaptive_rag.samples import SAMPLE_QUESTIONS, lend_vectors, samples_path
from adaptive_rag.server.database import open_database
from adaptive_rag.server.folders import folder_of
from adaptive_rag.server.indexing import make_indexing_settings, run_waiting_jobs
from adaptive_rag.server.pairing import pair
from adaptive_rag.server.settings import ServerSettings
from adaptive_rag.server.tables import Collection, Document, Job

NAME = "samples"


def add_samples(settings: ServerSettings, operator: Context) -> None:
    """Add the sample documents as if they had been uploaded, and index them at once.

    An existing collection of that name is left as it is.
    """
    engine = open_database(settings)
    pair(settings, engine)
    try:
        if _create_collection(settings, engine):
            run_waiting_jobs(make_indexing_settings(settings, operator), engine, lambda: False)
    finally:
        engine.dispose()


def _create_collection(settings: ServerSettings, engine: Engine) -> bool:
    """Create the collection with a job for its documents; return False if there is one of that name."""
    with Session(engine) as db:
        if db.scalar(select(Collection.id).where(Collection.name == NAME)):
            return False
        collection = Collection(
            name=NAME,
            description="Documents of Pellhythe, an invented town by the sea.",
            examples=[
                {"question": sample.question, "user_context": sample.user_context or "", "type": sample.type}
                for sample in SAMPLE_QUESTIONS
            ],
        )
        db.add(collection)
        db.flush()
        folder = folder_of(settings.data, collection.id)
        document_ids = []
        lend_vectors(folder.index)
        with folder.lock_documents():
            for path in sorted(path for path in samples_path().iterdir() if path.is_file()):
                with path.open("rb") as content:
                    stored = folder.write(content, path.name)
                fields = {"name": path.name, "size": stored.size, "digest": stored.digest}
                row = Document(collection_id=collection.id, **fields)
                db.add(row)
                db.flush()
                folder.publish(stored.folder, row)
                folder.flush()
                document_ids.append(row.id)
            db.add(Job(collection_id=collection.id, kind="index", details={"documents": document_ids}))
            db.commit()
        return True
