"""Arrow and narwhals, each imported when first used: many graphs come without a table."""

from collections.abc import Mapping
from typing import Any

from querist.lazy import Library

pa: Any = Library("pyarrow")
pc: Any = Library("pyarrow.compute")
kinds: Any = Library("pyarrow.types")
arrow_csv: Any = Library("pyarrow.csv")
pq: Any = Library("pyarrow.parquet")
nw: Any = Library("narwhals")


def replaced(table: Any, columns: Mapping[str, Any]) -> Any:
    """The table with other columns in place of those of these names."""
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table
