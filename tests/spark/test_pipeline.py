"""A pipeline of SQL and streams alone: late events, another schema, a driver that dies; no row is lost or counted twice."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
from collections import defaultdict

import pipeline
import pytest
import siltstone as st
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

ORDERS = 5_000 if os.environ.get("SILTSTONE_STRESS") else 60


class Feed:
    """Events of orders in random order, also of the same order, and what tables must have when all went through."""

    def __init__(self, landing):
        self.landing = landing
        self.landing.mkdir()
        self.random = random.Random(7)
        self.events, self.parts = [], 0

    def send(self, first, last, *, late=False, **more):
        """Amounts and states of orders, as one file; late ones are older than what has come before."""
        rows = []
        for number in self.random.choices(range(first, last), k=2 * (last - first)):
            time = self.random.randrange(10) if late else 100 + len(self.events)
            if self.random.random() < 0.6:
                day = f"2026-11-{20 + self.random.randrange(4)}"
                rows.append({"id": number, "day": day, "amount": self.random.randrange(1000), "a_ts": time} | more)
            else:
                rows.append({"id": number, "status": self.random.choice(["paid", "sent"]), "s_ts": time} | more)
            self.events.append(rows[-1])
        self.parts += 1
        (self.landing / f"part-{self.parts}.json").write_text("\n".join(map(json.dumps, rows)))

    def silver(self):
        orders = defaultdict(dict)
        for event in self.events:
            order = orders[event["id"]]
            for time, columns in (("a_ts", ("day", "amount")), ("s_ts", ("status",))):
                if time in event and event[time] >= order.get(time, -1):
                    order.update({name: event[name] for name in (time, *columns)})
            order.update({name: event[name] for name in ("id", "region") if name in event})
        return orders

    def gold(self):
        days = defaultdict(lambda: [0, 0])
        for order in self.silver().values():
            if "amount" in order:
                days[order["day"]][0] += order["amount"]
                days[order["day"]][1] += 1
        return {day: tuple(found) for day, found in days.items()}


def test_a_pipeline_loses_no_row_and_counts_none_twice(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    ss.sql(spark, "CREATE DATABASE lake")
    for statement in pipeline.TABLES:
        ss.sql(spark, statement)
    feed = Feed(tmp_path / "landing")
    feed.send(0, ORDERS)

    program = [sys.executable, pathlib.Path(pipeline.__file__), str(tmp_path), "0"]
    dead = subprocess.run(program, capture_output=True, text=True, timeout=900)
    assert dead.returncode == -signal.SIGKILL, dead.stderr[-2000:]
    check(cat, feed)  # gold has the batch, and Spark does not know it

    feed.send(ORDERS // 2, ORDERS + ORDERS // 2)
    feed.send(0, ORDERS, late=True)
    pipeline.flow(spark, tmp_path)
    check(cat, feed)

    for table in ("bronze", "silver"):
        ss.sql(spark, f"ALTER TABLE lake.{table} ADD COLUMN region STRING")
    feed.send(0, 2 * ORDERS, region="north")
    pipeline.flow(spark, tmp_path, f"{pipeline.EVENT}, region STRING")
    check(cat, feed)
    regions = ss.sql(spark, "SELECT count(*) FROM lake.silver WHERE region = 'north'").collect()[0][0]
    assert regions == sum("region" in order for order in feed.silver().values()) > 0
    pipeline.flow(spark, tmp_path, f"{pipeline.EVENT}, region STRING")  # nothing has come
    check(cat, feed)


def check(cat, feed):
    def rows(name):
        return [
            {k: v for k, v in r.items() if v is not None}
            for r in cat.table(f"lake.{name}").scan().to_arrow().to_pylist()
        ]

    assert sorted(map(repr, rows("bronze"))) == sorted(repr(in_order(event)) for event in feed.events)
    assert {row["id"]: row for row in rows("silver")} == feed.silver()
    found = {row["day"]: (row["total"], row["orders"]) for row in rows("gold")}
    assert {day: totals for day, totals in found.items() if totals != (0, 0)} == feed.gold()


def in_order(event):
    return {name: event[name] for name in ("id", "day", "amount", "a_ts", "status", "s_ts", "region") if name in event}
