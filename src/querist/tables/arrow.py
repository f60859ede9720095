"""Arrow and narwhals, each imported when first used: many graphs come without a table.

Where pyarrow is not installed, `tables/plain` has its place: all of this but parquet works without it.
"""

from typing import Any

from querist.lazy import Library

pa: Any = Library("pyarrow", otherwise="querist.tables.plain")
pc: Any = Library("pyarrow.compute", otherwise="querist.tables.plain.functions")
kinds: Any = Library("pyarrow.types", otherwise="querist.tables.plain.kinds")
arrow_csv: Any = Library("pyarrow.csv", otherwise="querist.tables.plain.text")
pq: Any = Library("pyarrow.parquet", extra="files", what="a parquet file")
nw: Any = Library("narwhals")
