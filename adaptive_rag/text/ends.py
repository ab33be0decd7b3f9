"""What patterns read of a long question: its ends, since a page that was pasted is asked about there."""

# Some patterns go on to the end from each place: this bounds what they cost.
HEAD_CHARACTERS, TAIL_CHARACTERS = 1600, 400


def read_ends(question: str) -> str:
    """Return a question, of a long one its first and its last part."""
    if len(question) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return question
    return f"{question[:HEAD_CHARACTERS]}\n{question[-TAIL_CHARACTERS:]}"
