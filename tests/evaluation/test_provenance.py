from adaptive_rag.evaluation.provenance import code_digest


def test_the_digest_of_the_code_is_stable() -> None:
    assert code_digest() == code_digest()
    assert len(code_digest()) == 16
