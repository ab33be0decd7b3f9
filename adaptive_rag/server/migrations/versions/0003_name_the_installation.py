"""Keep the identifier that database and data folder share."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; the next start gives both the identifier."""
    op.create_table("installation", sa.Column("id", sa.String(32), primary_key=True))


def downgrade() -> None:
    """Undo it."""
    op.drop_table("installation")
