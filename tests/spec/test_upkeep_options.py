"""Options of upkeep after commits: in the background, in batches, at the end of input."""

import time

COLUMNS = {"p": "STRING", "k": "INT"}
OLD = [{"p": f"2020-01-0{day}", "k": day} for day in range(1, 6)]
FEW = {"bucket": 1, "snapshot__num_retained__min": 1, "snapshot__num_retained__max": 2}


def kinds(t):
    return [s.kind for s in sorted(t.history(100), key=lambda s: s.id)]


def test_commits_of_a_stream_leave_expiry_to_the_background_when_told_to(make):
    t = make(COLUMNS, ["k"], **FEW, snapshot__expire__execution_mode="async")
    with t.writer(commit_user="stream") as w:
        for identifier in range(1, 1000):
            w.write([{"p": "a", "k": identifier}])
            w.commit(identifier=identifier)
            if identifier > 5 and len(t.history(1000)) <= 3:
                break
            time.sleep(0.01)
    assert len(t.history(1000)) <= 3
    assert t.scan().count() == identifier
    # the last expiry may still be at work: what it is deleting is no finding
    assert t.maintenance.fsck(deep=True).ok


def test_batch_commits_wait_for_expiry_whatever_the_mode(make):
    t = make(COLUMNS, ["k"], **FEW, snapshot__expire__execution_mode="async")
    for n in range(5):
        t.append([{"p": "a", "k": n}])
        assert len(t.history(100)) == min(n + 1, 2)


def test_old_partitions_go_in_batches(make):
    t = make(COLUMNS, partition_by=["p"], partition__expiration_batch_size=2)
    t.append([*OLD, {"p": "2999-01-01", "k": 9}])
    report = t.maintenance.expire_partitions(expiration_time="7 d")
    assert len(report.details["partitions"]) == 5
    assert report.snapshots == [2, 3, 4]
    assert kinds(t) == ["APPEND", "OVERWRITE", "OVERWRITE", "OVERWRITE"]
    assert [r["k"] for r in t.scan().to_arrow().to_pylist()] == [9]


def test_the_end_of_input_looks_for_old_partitions_before_the_interval_is_over(make):
    rare = {"partition__expiration_time": "7 d", "partition__expiration_check_interval": "30 d"}
    for at_end in ("false", "true"):
        t = make(COLUMNS, partition_by=["p"], end_input__check_partition_expire=at_end, **rare)
        for row in OLD[:3]:
            t.append([row])
        # the first commit of a process looks anyway
        assert t.scan().count() == (0 if at_end == "true" else 2)
