"""One table for polars and DuckDB: frames go in, lazy queries and SQL come out.

    python polars_and_duckdb.py [DIRECTORY]

It needs polars and duckdb: pip install 'siltstone[polars,duckdb]'
"""

import sys
import tempfile

import duckdb
import polars as pl
import siltstone as st


def main(lake: str) -> None:
    """Write with polars, ask with both, and keep a result of DuckDB as a table."""
    cat = st.connect(lake)
    cat.create_database("shop", exist_ok=True)
    number = pl.int_range(0, 1000, eager=True)
    frame = pl.DataFrame(
        {"id": number, "customer": number * 13 % 50, "amount": number * 37 % 400 / 4}
    )
    # the table has the columns of the frame
    orders = cat.create_table("shop.orders", frame, primary_key="id", exist_ok=True)
    orders.upsert(frame)

    large = st.scan_polars(orders).filter(pl.col("amount") > 90)
    best = large.group_by("customer").agg(pl.col("amount").sum())
    print("polars, lazily; the condition reaches the files:")
    print(best.sort("amount", "customer", descending=[True, False]).head(3).collect())

    dataset = orders.to_dataset()  # noqa: F841  # DuckDB finds it by its name
    print("\nDuckDB:")
    print(duckdb.sql("SELECT count(*), sum(amount) FROM dataset WHERE customer < 10"))

    per_customer = duckdb.sql(
        "SELECT customer, sum(amount) AS total FROM dataset GROUP BY customer"
    )
    totals = cat.create_table(
        "shop.totals", per_customer, primary_key="customer", exist_ok=True
    )
    report = totals.upsert(per_customer)
    print(f"{report.rows} totals are a table of their own. Customer 7:")
    print(totals.get(7).to_pylist())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1] if len(sys.argv) > 1 else temporary)
