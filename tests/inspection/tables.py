"""Tables with numbers, text, categories, dates and missing cells, in several containers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def mixed(n=90, seed=0):
    """A pandas frame of five kinds of columns; the target depends on all but the date."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(10, 3, n).round(2),
            "count": rng.integers(0, 5, n),
            "place": rng.choice(["north", "south", "west"], n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    frame.loc[5, "size"] = np.nan
    frame.loc[7, "place"] = None
    amount = (
        frame["size"].fillna(10)
        + 2 * frame["count"]
        + 4.0 * (frame["place"] == "south")
        + 3.0 * frame["grade"].cat.codes
    )
    return frame, amount.to_numpy() + rng.normal(0, 0.5, n)


CONTAINERS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
