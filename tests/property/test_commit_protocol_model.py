"""The commit protocol as a model, walked through every interleaving: see support/commit_protocol.py."""

import os

import pytest
from commit_protocol import Rules, explore

STRESS = pytest.mark.skipif("SILTSTONE_STRESS" not in os.environ, reason="make stress: minutes")
SMALL = [
    ["commit x", "expire"],
    ["commit x", "rollback"],
    ["commit x", "rollback to tag"],
    ["expire", "rollback to tag"],
    ["tag t", "expire", "rollback to tag"],
    ["commit x", "expire", "rollback to tag"],
    ["commit x", "commit y", "expire"],
    ["commit x", "expire", "expire"],
]
LARGE = [
    ["commit x", "commit y", "expire", "rollback to tag"],
    ["commit x", "commit y", "expire", "rollback"],
    ["commit x", "tag t", "expire", "rollback to tag"],
    ["commit x", "expire", "expire", "rollback to tag"],
    ["commit x", "commit y", "rollback to tag", "rollback"],
]


@pytest.mark.parametrize("actors", SMALL, ids=" | ".join)
def test_no_interleaving_loses_a_commit_a_file_or_a_version(actors):
    found = explore(actors)
    assert found.wrong is None, found
    assert found.states > 20


@STRESS
@pytest.mark.parametrize("actors", LARGE, ids=" | ".join)
def test_no_interleaving_of_four_loses_anything(actors):
    found = explore(actors)
    print(f"{' | '.join(actors)}: {found.states} states")
    assert found.wrong is None, found


@pytest.mark.parametrize(
    ("without", "actors"),
    [
        ("records", ["commit x", "commit y", "commit z", "expire"]),
        ("records", ["commit x", "rollback"]),
        ("looks_again", ["commit x", "rollback"]),
        ("deletes_what_is_listed", ["commit x", "rollback"]),
        ("listings", ["commit x", "commit y", "expire", "rollback to tag"]),
        ("lock", ["expire", "rollback to tag", "commit x"]),
        pytest.param("lists_before_record", ["commit x", "commit y", "commit z", "expire", "expire"], marks=STRESS),
    ],
)
def test_each_part_of_the_protocol_is_needed(without, actors):
    found = explore(actors, Rules(**{without: False}), deaths=False)
    assert found.wrong is not None, found.states
