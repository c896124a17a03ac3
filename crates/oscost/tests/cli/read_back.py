"""Reads one table back and prints its lines as JSON: read_back.py READER FILE COLUMNS.

COLUMNS says of a CSV file which columns it has and of what type, as JSON; of a Parquet file it is
`null`, for that knows by itself.
"""

import json
import math
import sys

reader, file, columns = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

if reader == "duckdb":
    import duckdb

    if columns:
        types = {"text": "VARCHAR", "float": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN"}
        types = {name: types[kind] for name, kind in columns}
        table = duckdb.read_csv(file, header=True, columns=types)
    else:
        table = duckdb.read_parquet(file)
    lines = [dict(zip(table.columns, line)) for line in table.fetchall()]
else:
    import pandas

    if columns:
        types = {"text": "string", "float": "float64", "integer": "Int64", "boolean": "boolean"}
        types = {name: types[kind] for name, kind in columns}
        # From 3.1 on it reads figures to the last bit by itself, and warns who asks for it.
        older = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
        exact = {"float_precision": "round_trip"} if older else {}
        table = pandas.read_csv(
            file, dtype=types, keep_default_na=False, na_values=[""], **exact
        )
    else:
        table = pandas.read_parquet(file, dtype_backend="numpy_nullable")
    known = table.astype(object).where(table.notna(), None)
    lines = known.to_dict(orient="records")

for line in lines:
    for name, value in line.items():
        assert not (isinstance(value, float) and math.isnan(value)), name
        line[name] = value.item() if hasattr(value, "item") else value

json.dump(lines, sys.stdout, allow_nan=False)
