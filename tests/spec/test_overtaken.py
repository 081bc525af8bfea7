"""Others compact a table and let its old versions expire while a compaction or a reader is at work: nothing is lost."""

import os

import pytest
import siltstone as st
from siltstone import compaction
from siltstone import errors as e
from siltstone.cli.__main__ import main
from siltstone.procedures import Call, run_call


@pytest.fixture
def t(make):
    """Five files in level 0 that nobody has compacted yet."""
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1, write_only="true")
    for n in range(5):
        t.upsert([{"id": n, "v": n}])
    return t


def replace_all_files(t):
    """What others do: compact everything, keep one version."""
    other = st.open_table(t.location)
    other.upsert([{"id": 100, "v": 100}])
    other.maintenance.compact(other.maintenance.plan_compaction(full=True))
    other.maintenance.expire_snapshots(retain_max=1, retain_min=1)


@pytest.fixture
def others_come_first(monkeypatch):
    """Let others replace all files just before a task runs, so often; returns how many tasks have run."""

    def arrange(t, times):
        run = compaction.run_tasks
        calls = []

        def late(tokens, **options):
            calls.append(tokens)
            if len(calls) <= times:
                with monkeypatch.context() as undisturbed:
                    undisturbed.setattr(compaction, "run_tasks", run)
                    replace_all_files(t)
                    for n in range(5):
                        st.open_table(t.location).upsert([{"id": n, "v": n}])
            return run(tokens, **options)

        monkeypatch.setattr(compaction, "run_tasks", late)
        return calls

    return arrange


def whole(t):
    assert t.maintenance.fsck(deep=True).ok
    return sorted(t.scan().to_arrow()["id"].to_pylist())


ROWS = [0, 1, 2, 3, 4, 100]


def test_a_task_whose_files_others_have_compacted_and_expired_is_a_conflict(t):
    plan = t.maintenance.plan_compaction(full=True)
    replace_all_files(t)
    with pytest.raises(e.CommitConflict, match="replaced files of this compaction") as caught:
        plan.tasks[0].run()
    assert "plan the compaction again" in caught.value.hint
    assert whole(t) == ROWS


def test_compact_plans_again_what_others_were_quicker_with(t, others_come_first):
    calls = others_come_first(t, 1)
    report = t.compact(full=True)
    assert len(calls) == 2 and len(report.snapshots) == 1
    assert [note for note in report.notes if "which was done again" in note]
    assert whole(t) == ROWS
    assert len(t.files()) == 1


def test_compact_tries_three_times_and_says_that_it_gave_up(t, others_come_first):
    calls = others_come_first(t, 99)
    report = t.compact(full=True)
    assert len(calls) == 3 and report.snapshots == []
    assert [note.startswith(compaction.GIVEN_UP) for note in report.notes] == [True]
    assert whole(t) == ROWS


def test_a_given_plan_is_not_made_again_and_its_report_says_what_was_given_up(t):
    plan = t.maintenance.plan_compaction(full=True)
    replace_all_files(t)
    report = t.compact(plan)
    assert (report.snapshots, report.tasks) == ([], 0)
    assert [note.startswith(compaction.GIVEN_UP) for note in report.notes] == [True]
    assert whole(t) == ROWS


@pytest.mark.parametrize("more", [{}, {"buckets": "0"}, {"compact_strategy": "minor"}])
def test_a_call_whose_compaction_was_given_up_fails_as_javas_does(t, others_come_first, more):
    """The result was `true`, and nobody was told that nothing had been compacted."""
    others_come_first(t, 99)
    with pytest.raises(e.CommitConflict, match=r"given up.*nothing was compacted"):
        run_call(Call("compact", named={"table": "db.t", **more}), lambda _: t)
    assert whole(t) == ROWS


def test_a_call_whose_compaction_was_done_again_says_so(t, others_come_first, caplog):
    others_come_first(t, 1)
    result = run_call(Call("compact", named={"table": "db.t"}), lambda _: t)
    assert result.rows == [(True,)]
    assert len(result.notes) == 1 and "which was done again" in result.notes[0]
    assert f"sys.compact: {result.notes[0]}" in caplog.text


@pytest.mark.parametrize("command", [["compact", "--full"], ["call", "compact"]])
def test_the_command_line_has_an_exit_code_for_compactions_that_were_given_up(t, others_come_first, command, capsys):
    others_come_first(t, 99)
    table = t.location if command[0] == "compact" else f"table={t.location}"
    with pytest.raises(SystemExit) as caught:
        main([*command, table])
    assert caught.value.code == 4
    said = capsys.readouterr()
    assert compaction.GIVEN_UP in " ".join((said.out + said.err).split())


def test_what_is_left_to_compact_may_be_nothing(t, monkeypatch):
    run = compaction.run_tasks

    def late(tokens, **options):
        monkeypatch.setattr(compaction, "run_tasks", run)
        replace_all_files(t)
        return run(tokens, **options)

    monkeypatch.setattr(compaction, "run_tasks", late)
    report = t.compact(full=True)
    assert report.snapshots == [] and "left nothing to compact" in report.notes[0]
    assert whole(t) == ROWS


def test_reading_a_plan_whose_version_has_expired_says_so(t):
    split = t.scan().splits()[0]
    replace_all_files(t)
    with pytest.raises(e.SnapshotExpired, match="has expired while it was read") as caught:
        list(split.read())
    assert "newest version" in caught.value.hint


def test_a_version_that_a_tag_keeps_is_read_after_it_expired(t):
    t.tags.create("kept")
    split = t.scan(tag="kept").splits()[0]
    replace_all_files(t)
    assert sorted(key for batch in split.read() for key in batch["id"].to_pylist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("travels", [False, True])
@pytest.mark.parametrize("key", [["id"], []])
def test_a_split_of_a_version_that_was_rolled_back_says_so_when_another_has_its_id(make, key, travels):
    """It once was a file that is missing: damage."""
    t = make({"id": "INT", "v": "INT"}, key, bucket=1 if key else -1)
    t.append([{"id": 1, "v": 1}])
    t.append([{"id": 2, "v": 2}])
    splits = t.scan(version=2).splits()
    files = {file["path"] for file in t.files(version=2)}
    if travels:
        splits = [st.Split(split.to_bytes()) for split in splits]
    t.rollback(version=1)
    t.append([{"id": 3, "v": 3}])
    assert t.snapshot().id == 2
    for path in files - {file["path"] for file in t.files()}:
        os.remove(path)  # as the cleaning of orphan files does
    with pytest.raises(e.SnapshotExpired, match="snapshot 2 has expired while it was read, or was rolled back"):
        for split in splits:
            list(split.read())
    assert sorted(t.scan().to_arrow()["id"].to_pylist()) == [1, 3]


def test_a_file_that_is_missing_of_a_version_that_is_there_stays_damage(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1)
    t.upsert([{"id": 1, "v": 1}])
    splits = t.scan().splits()
    os.remove(t.files()[0]["path"])
    with pytest.raises(e.FileMissing):
        list(splits[0].read())
