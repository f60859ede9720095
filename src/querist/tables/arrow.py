"""Arrow and narwhals, each imported when first used: many graphs come without a table."""

from typing import Any

from querist.lazy import Library

pa: Any = Library("pyarrow")
pc: Any = Library("pyarrow.compute")
kinds: Any = Library("pyarrow.types")
arrow_csv: Any = Library("pyarrow.csv")
pq: Any = Library("pyarrow.parquet")
nw: Any = Library("narwhals")
