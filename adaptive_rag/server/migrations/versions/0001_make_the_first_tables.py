"""Create the first tables: those of the code, until a version is published whose data must be kept."""

from alembic import op

from adaptive_rag.server.tables import Base

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first tables."""
    Base.metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop the tables."""
    Base.metadata.drop_all(op.get_bind())
