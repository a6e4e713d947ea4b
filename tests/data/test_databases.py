"""Queries on a real PostgreSQL server: the model of the table in memory, in little memory."""

import numpy as np
import pyarrow as pa
import pytest

import pellucid
from pellucid.errors import DataError, DataTypeError
from pellucid.linear_model import LinearRegression
from tests.data.test_sources import assert_same, learned
from tests.postgres import open_server

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.slow
ROWS = 40_000  # more than one batch
QUERY = "SELECT a, price, region, member, day, y FROM sales ORDER BY id"


@pytest.fixture(scope="module")
def address():
    with open_server() as address, psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE sales (id int, a double precision, price numeric(8, 2), region text, "
            "member boolean, day date, label jsonb, y double precision)"
        )
        connection.execute(
            "INSERT INTO sales SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE sin(i) END, "
            "(i % 400) / 4.0, (ARRAY['north', 'south', 'east'])[1 + i % 3], i % 2 = 0, "
            f"date '2024-01-01' + i % 300, '[1]', i % 11 + sin(i) FROM generate_series(1, {ROWS}) AS i"
        )
        connection.commit()
        yield address


@pytest.fixture(scope="module")
def table(address):
    with psycopg.connect(address) as connection:
        rows = connection.execute(QUERY).fetchall()
    names = ["a", "price", "region", "member", "day", "y"]
    table = pa.table({name: list(cells) for name, cells in zip(names, zip(*rows))})
    price = np.array([float(row[1]) for row in rows])
    return table.set_column(1, "price", pa.array(price))


@pytest.mark.parametrize("autocommit", [False, True])
def test_a_query_gives_the_model_of_the_table(address, table, autocommit):
    with psycopg.connect(address, autocommit=autocommit) as connection:
        source = pellucid.scan(connection, query=QUERY)
        assert source.n_rows == ROWS
        found = LinearRegression().fit(source, "y")
        assert_same(learned(found), learned(LinearRegression().fit(table, "y")))
        with pytest.raises(DataError, match="has no rows"):
            pellucid.scan(connection, query="SELECT a FROM sales WHERE id < 0")
        with pytest.raises(DataTypeError, match="column 'label'"):
            pellucid.scan(connection, table="sales")
        with pytest.raises(psycopg.Error, match="selec"):
            pellucid.scan(connection, query="selec 1")


def test_rows_are_fetched_in_parts(address):
    """The driver would hold all rows of a cursor without a name."""
    held = []

    class Watched(psycopg.ServerCursor):
        def fetchmany(self, size=0):
            held.append(len(rows := super().fetchmany(size)))
            return rows

    with psycopg.connect(address) as connection:
        connection.server_cursor_factory = Watched
        pellucid.scan(connection, query=QUERY)
    assert sum(held) == ROWS and max(held) == 2**14


def test_adbc_gives_the_same_model(address, table):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with dbapi.connect(address) as connection:
        found = LinearRegression().fit(pellucid.scan(connection, query=QUERY), "y")
    assert_same(learned(found), learned(LinearRegression().fit(table, "y")))
