"""The upkeep of all tables of a warehouse: what cron or Airflow runs at night.

    python upkeep_job.py [WAREHOUSE]

It ends with 1 where a table could not be looked after, or has a problem, so that a
scheduler sees it. It may be repeated, and runs beside readers and writers. Without a
warehouse it makes a small one, to show what it does.
"""

import sys
import tempfile

import siltstone as st


def main(warehouse: str) -> int:
    """Look after each table; the exit status."""
    cat = st.connect(warehouse)
    names = [f"{db}.{name}" for db in cat.databases() for name in cat.tables(db)]
    results = [look_after(cat.table(name)) for name in names]
    return 0 if all(results) else 1


def look_after(t: st.Table) -> bool:
    """Compact, let old versions go, clean up, check; whether all of that went well."""
    try:
        compacted = t.compact(full=True)
        # what tags, branches and consumers need stays
        expired = t.expire_snapshots(retain_max=30, retain_min=10)
        cleaned = t.maintenance.remove_orphan_files(older_than="2 d", dry_run=False)
        verdict = t.maintenance.fsck()
    except st.errors.UpkeepRunning as e:
        print(f"{t.name}: {e.message}; the next night will do")
        return True
    except st.errors.SiltstoneError as e:  # the other tables get their upkeep
        print(f"{t.name}: FAILED: {e}")
        return False
    freed = expired.freed_bytes + cleaned.freed_bytes
    print(f"{t.name}:")
    print(f"  {compacted.files_before} files became {compacted.files_after}")
    print(f"  {len(expired.snapshots)} versions expired, {freed:,} bytes are free")
    print(f"  {len(verdict.problems)} problems, {len(verdict.warnings)} warnings")
    for finding in verdict.findings:
        print(f"  {finding.code} at {finding.place}: {finding.message}")
    return verdict.ok and not compacted.given_up


def sample(warehouse: str) -> None:
    """Two tables that nobody has looked after."""
    cat = st.connect(warehouse)
    cat.create_database("shop")
    columns = {"id": "BIGINT", "item": "STRING"}
    orders = cat.create_table("shop.orders", columns, primary_key="id")
    clicks = cat.create_table("shop.clicks", columns)
    for hour in range(12):
        rows = [{"id": n * hour % 500, "item": f"item {hour}"} for n in range(500)]
        orders.upsert(rows)
        clicks.append(rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1]))
    with tempfile.TemporaryDirectory() as temporary:
        sample(temporary)
        sys.exit(main(temporary))
