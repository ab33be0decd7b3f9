"""What is larger than a request may be is refused before it is read, whoever sends it."""

from tests.server.conftest import Serve


def test_a_body_beyond_the_bound_is_refused_and_an_upload_has_a_bound_of_its_own(serve: Serve) -> None:
    large = b" " * 5_000_000
    with serve() as client:
        for path in ("session", "collections/none/ask"):
            refused = client.post(
                f"/api/v1/{path}", content=large, headers={"Content-Type": "application/json"}
            )
            assert refused.status_code == 413, refused.text
        client.post("/api/v1/collections", json={"name": "samples"})
        taken = client.post(
            "/api/v1/collections/samples/documents", files=[("files", ("large.txt", b"word " * 1_000_000))]
        )
        assert taken.status_code == 202, taken.text
