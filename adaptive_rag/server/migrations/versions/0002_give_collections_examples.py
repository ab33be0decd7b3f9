"""Give collections example questions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; collections that are there have no examples."""
    with op.batch_alter_table("collections", schema=None) as batch_op:
        batch_op.add_column(sa.Column("examples", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    """Undo it."""
    with op.batch_alter_table("collections", schema=None) as batch_op:
        batch_op.drop_column("examples")
