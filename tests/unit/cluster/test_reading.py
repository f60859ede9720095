"""Files of edges become the same graph on any number of ranks as in one process."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from thread_ranks import Alone, in_threads

from querist import as_graph
from querist.cluster.reading import (
    Destination,
    codes_of,
    edge_table,
    ids_of,
    merged_names,
    read_rows,
    routed,
    table_files,
)
from querist.cluster.shard import components, largest
from querist.errors import InputError


def write(folder, tables):
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), folder / f"part-{number}.parquet", row_group_size=40)
    (folder / "_SUCCESS").touch()


def some_edges(seed=0, n=120, m=300):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(n, size=(2, m))
    weight = rng.integers(1, 9, size=m) / 2
    again = rng.choice(m, 40)  # the other way round, with another weight; and some loops
    i, j = np.r_[i, j[again], np.arange(5)], np.r_[j, i[again], np.arange(5)]
    return i, j, np.r_[weight, weight[again] + 1, np.ones(5)]


def together(parts):
    """The rows of all ranks as one matrix, and the ids of its rows."""
    rows = [part[0] for part in parts]
    indptr = np.concatenate([np.diff(each.indptr) for each in rows]).cumsum()
    n = int(rows[0].bounds[-1])
    weights, columns = (np.concatenate([getattr(r, name) for r in rows]) for name in ("weights", "columns"))
    matrix = sp.csr_array((weights, columns, np.r_[0, indptr]), shape=(n, n))
    return matrix, np.concatenate([part[1] for part in parts])


@pytest.fixture(params=["numbers", "texts", "gaps", "csv"])
def files(request, tmp_path):
    """Folders of edges with ids of every kind, and the graph that one process makes of them."""
    i, j, weight = some_edges()
    name = {"texts": lambda k: f"node {k}", "gaps": lambda k: int(k) ** 5 - 7}.get(request.param, int)
    ends = [[name(k) for k in end] for end in (i, j)]
    cuts = [0, 130, 131, len(i)]
    tables = [
        {"source": ends[0][a:b], "target": ends[1][a:b], "weight": weight[a:b]}
        for a, b in itertools.pairwise(cuts)
    ]
    folder = tmp_path / "edges"
    if request.param == "csv":
        folder.mkdir()
        for number, table in enumerate(tables):
            lines = zip(*table.values(), strict=True)
            text = "source,target,weight\n" + "".join(f"{a},{b},{w}\n" for a, b, w in lines)
            (folder / f"{number}.csv").write_text(text)
    else:
        write(folder, tables)
    graph = as_graph(list(zip(*ends, weight.tolist(), strict=True)))
    return table_files(folder), graph


@pytest.mark.slow
def test_a_folder_of_edges_is_the_graph_that_one_process_reads(files):
    paths, graph = files

    def work(group):
        rows, directory = read_rows(group, paths, edge_table(paths[0], None, None, None))
        to = Destination(np.arange(rows.bounds[group.rank], rows.bounds[group.rank + 1]), rows.bounds)
        return rows, np.array(ids_of(group, directory, to, rows).to_pylist())

    expected = None
    for size in (1, 2, 3):
        matrix, ids = together(in_threads(size, work))
        if expected is None:
            expected = matrix, ids
            used = np.flatnonzero(np.diff(matrix.indptr))
            place = {name: k for k, name in enumerate(ids[used].tolist())}
            # One process also has nodes that only a loop names.
            own = [k for k, name in enumerate(graph.nodes) if graph.degrees[k] > 0]
            order = np.array([place[graph.nodes[k]] for k in own])
            assert sorted(order) == list(range(used.size))
            np.testing.assert_array_equal(
                matrix[used][:, used].toarray()[order][:, order], graph.adjacency.toarray()[own][:, own]
            )
        np.testing.assert_array_equal(matrix.toarray(), expected[0].toarray())
        np.testing.assert_array_equal(ids, expected[1])


def test_components_are_those_of_one_process(tmp_path):
    i, j, _ = some_edges(m=90)
    write(tmp_path / "edges", [{"source": i, "target": j}])
    paths = table_files(tmp_path / "edges")
    S = sp.coo_array((np.ones(i.size), (i, j)), shape=(120, 120))
    count, expected = sp.csgraph.connected_components(S, directed=False)
    sizes = np.bincount(expected)

    def work(group):
        rows, _ = read_rows(group, paths, edge_table(paths[0], None, None, None))
        names = rows.names
        shard = rows.shard(group)
        found = components(shard)
        return names, found, *largest(shard, found)

    for size in (1, 3):
        parts = in_threads(size, work)
        names, found, kept = (np.concatenate([part[k] for part in parts]) for k in range(3))
        first = np.array([np.flatnonzero(expected == expected[k])[0] for k in names])
        np.testing.assert_array_equal(found, first)
        np.testing.assert_array_equal(kept, sizes[expected[names]] == sizes.max())
        assert parts[0][3] == int((sizes > 1).sum())
    assert count > 3


def test_labels_go_where_their_nodes_are(files):
    paths, graph = files
    known = [node for k, node in enumerate(graph.nodes) if graph.degrees[k] > 0][:9]
    labels = pa.table({"node": [*known, "nobody" if isinstance(known[0], str) else 10**17],
                       "label": [f"class {k % 3}" for k in range(10)]})  # fmt: skip

    def work(group):
        rows, directory = read_rows(group, paths, edge_table(paths[0], None, None, None))
        first = int(rows.bounds[group.rank])
        to = Destination(np.arange(first, first + rows.names.size), rows.bounds)
        share = labels.slice(5 * group.rank, 5 if group.rank < group.size - 1 else 10)
        codes, classes = codes_of(group, share["label"])
        at, values, lost = routed(group, directory, to, directory.made.of(share["node"]), codes)
        ids = ids_of(group, directory, to, rows).to_pylist()
        return {ids[row]: classes[code] for row, code in zip(at, values, strict=True)}, lost

    for size in (1, 2):
        parts = in_threads(size, work)
        assert {k: v for found, _ in parts for k, v in found.items()} == dict(
            zip(known, labels["label"].to_pylist()[:9], strict=True)
        )
        assert parts[0][1] == 1


def test_two_names_with_one_key_are_noticed():
    one = pa.table({"key": [3, 5], "text": ["a", "b"]})
    assert merged_names([one, one])[0].tolist() == [3, 5]
    assert merged_names([one, pa.table({"key": [5], "text": ["c"]})]) is None


def test_weights_of_text_may_have_decimal_commas(tmp_path):
    (tmp_path / "edges.csv").write_text("source;target;weight\n0;1;1,5\n1;2;2\n")
    paths = table_files(tmp_path)
    rows, _ = read_rows(Alone(), paths, edge_table(paths[0], None, None, None))
    assert sorted(rows.weights) == [1.5, 1.5, 2, 2]
    (tmp_path / "edges.csv").write_text("source;target;weight\n0;1;much\n1;2;2\n")
    with pytest.raises(InputError, match="must be finite numbers"):
        read_rows(Alone(), paths, edge_table(paths[0], None, None, None))


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        table_files(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file in it"):
        table_files(tmp_path / "empty")
    write(tmp_path / "edges", [{"source": [0, None], "target": [1, 2]}])
    paths = table_files(tmp_path / "edges")
    with pytest.raises(InputError, match="an edge without source"):
        read_rows(Alone(), paths, edge_table(paths[0], None, None, None))
    write(tmp_path / "weights", [{"source": [0, 1], "target": [1, 2], "weight": [1.0, -1.0]}])
    paths = table_files(tmp_path / "weights")
    with pytest.raises(InputError, match="above 0"):
        read_rows(Alone(), paths, edge_table(paths[0], None, None, None))
