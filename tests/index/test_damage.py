"""Bad disks and killed processes, in the short form of `python -m benchmarks.damage`."""

from pathlib import Path

import pytest

from benchmarks.damage import KINDS, damage_copies, delete, empty, flip, halve, kill_writers

SEED = 7


@pytest.mark.parametrize(
    ("in_memory", "flips"),
    [
        (True, 3),
        pytest.param(True, len(KINDS), marks=pytest.mark.nightly),
        pytest.param(False, len(KINDS), marks=pytest.mark.nightly),
    ],
)
def test_a_flipped_bit_is_noticed_or_without_effect_and_is_mended(
    tmp_path: Path, in_memory: bool, flips: int
) -> None:
    outcomes = damage_copies(tmp_path, flip, flips, SEED, in_memory=in_memory)
    assert [each for each in outcomes if not each.passed] == []
    assert [each.kind for each in outcomes] == list(KINDS)[:flips]
    # What a small index is searched in, none of it can be wrong in silence. Where a bit is flipped depends on
    # the files' names, so a kind may by chance have been hit only where nothing is read.
    searched = {"data", "deletions", "word index", "vector index", "manifest"}
    seen = {each.noticed for each in outcomes if each.kind in searched}
    assert not in_memory or "by opening or asking" in seen <= {"by opening or asking", "without effect"}


@pytest.mark.parametrize(
    "damage", [pytest.param(of, marks=pytest.mark.nightly) for of in (halve, empty, delete)]
)
def test_a_torn_or_missing_file_is_noticed_or_without_effect_and_is_mended(tmp_path: Path, damage) -> None:
    outcomes = damage_copies(tmp_path, damage, len(KINDS), SEED, in_memory=True)
    assert [each for each in outcomes if not each.passed] == []


@pytest.mark.nightly
def test_a_reader_sees_whole_states_alone_while_runs_are_killed(tmp_path: Path) -> None:
    killed, states, wrong = kill_writers(tmp_path, 3, SEED)
    assert (killed, wrong) == (3, [])
    assert states > 1
