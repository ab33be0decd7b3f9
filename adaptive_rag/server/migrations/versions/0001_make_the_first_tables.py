"""Make the first tables: those of the code, until a version was published whose data are to be kept."""

from alembic import op

from adaptive_rag.server.tables import Base

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the first tables."""
    Base.metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Undo it."""
    Base.metadata.drop_all(op.get_bind())
