"""Which row a message names, and the type that integer columns of several files share."""

import pyarrow as pa
import pytest

from pellucid.data.sources.files import _joined
from pellucid.errors import DataError
from pellucid.linear_model import Ridge


def test_the_row_of_a_negative_weight_is_named():
    with pytest.raises(DataError, match="row 2 has -1"):
        Ridge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], sample_weight=[0.0, 1.0, -1.0])


def test_integers_of_different_widths_stay_integers():
    assert _joined("files", "age", [pa.int32(), pa.int64()]).type == pa.int64()
    assert _joined("files", "age", [pa.int32(), pa.float32()]).type == pa.float64()
