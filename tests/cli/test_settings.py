"""`adaptive-rag settings` and the reference page that it writes."""

from pathlib import Path

from adaptive_rag.cli.settings import format_reference, format_server_table
from adaptive_rag.context import setting_names

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_reference_page_is_what_the_fields_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == format_reference()


def test_the_page_names_every_setting_and_the_strategies() -> None:
    page = format_reference()
    assert [name for name in setting_names() if f"| `{name}` |" not in page] == []
    assert "factual, analytical, opinion, contextual" in page


def test_the_servers_page_has_the_table_that_its_fields_say() -> None:
    assert (PAGE.parent / "server.md").read_text(encoding="utf-8").endswith(f"\n\n{format_server_table()}")
