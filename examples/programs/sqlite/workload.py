"""A workload on SQLite: `fill FOLDER ROWS` makes the orders, `run FOLDER …` copies them into a database of given settings and uses it.

The time is that of look-ups and inserts, without the copy. The sum that the look-ups find must be the one that is expected.
"""

import json
import pathlib
import random
import sqlite3
import sys
import time

CUSTOMERS = 1000


def orders(rows):
    draw = random.Random(rows)
    return ((at, draw.randrange(CUSTOMERS), draw.randrange(10_000), "n" * draw.randrange(40)) for at in range(rows))


def fill(folder, rows):
    (folder / "orders.db").unlink(missing_ok=True)
    with sqlite3.connect(folder / "orders.db") as db:
        db.execute("create table orders (id integer primary key, customer integer, cents integer, note text)")
        db.executemany("insert into orders values (?, ?, ?, ?)", orders(rows))
        db.execute("create index of_customer on orders (customer)")


def fresh(folder, page):
    """A database with pages of that size and the orders of set-up."""
    path = folder / f"page{page}.db"
    if not path.exists():
        with sqlite3.connect(path) as db:
            db.execute(f"pragma page_size = {page}")
            db.execute("vacuum")
            db.execute("attach ? as source", (str(folder / "orders.db"),))
            db.execute("create table orders (id integer primary key, customer integer, cents integer, note text)")
            db.execute("insert into orders select * from source.orders")
            db.execute("create index of_customer on orders (customer)")
    for used in folder.glob("used.db*"):
        used.unlink()
    (folder / "used.db").write_bytes(path.read_bytes())
    return folder / "used.db"


def run(folder, rows, lookups, inserts, page, cache, journal, batch, mapped):
    db = sqlite3.connect(fresh(folder, page), isolation_level=None)
    db.execute(f"pragma cache_size = -{cache}")
    db.execute(f"pragma journal_mode = {journal}")
    db.execute(f"pragma mmap_size = {mapped << 20}")
    draw = random.Random(1)
    asked = [draw.randrange(CUSTOMERS) for _ in range(lookups)]
    new = list(zip(range(rows, rows + inserts), [draw.randrange(CUSTOMERS) for _ in range(inserts)]))
    began = time.perf_counter()
    found = sum(db.execute("select total(cents) from orders where customer = ?", (c,)).fetchone()[0] for c in asked)
    for begin in range(0, inserts, batch):
        db.execute("begin")
        part = new[begin : begin + batch]
        db.executemany("insert into orders values (?, ?, 100, '')", part)
        db.execute("commit")
    took = time.perf_counter() - began
    count = db.execute("select count(*) from orders").fetchone()[0]
    db.close()
    cents = [0] * CUSTOMERS
    for _, customer, amount, _ in orders(rows):
        cents[customer] += amount
    is_right = count == rows + inserts and found == sum(cents[c] for c in asked)
    answer = {"time_s": took, "counters": {"bytes": (folder / "used.db").stat().st_size}}
    print(json.dumps(answer if is_right else {"right": False, "why": f"{count} orders, sum {found}"}))


word, folder, numbers = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
if word == "fill":
    fill(folder, int(numbers[0]))
else:
    run(folder, *[text if text.isalpha() else int(text) for text in numbers])
