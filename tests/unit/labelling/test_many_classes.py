"""As many classes as nodes: refused before the tables of both are made, with what it would take."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import querist
from querist import InputError

CODE = """
import resource, sys
from pathlib import Path
import numpy as np
import querist

n, way = 2501, sys.argv[1]
graph = querist.as_graph(np.c_[np.arange(n - 1), np.arange(1, n)])
classes = [f"class {k}" for k in range(n - 1)]
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, resource.RLIM_INFINITY))
try:
    if way == "label":
        querist.label(graph, [*classes, None])
    elif way == "ask":
        querist.ask(graph, lambda node: classes[0], budget=3, classes=classes)
    else:
        querist.CLASSIFIERS[way]().fit(graph, [*classes, None])
except querist.errors.QueristError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are those of Linux")
@pytest.mark.parametrize("way", ["label", "ask", "wvrn"])
def test_as_many_classes_as_nodes_are_refused_in_a_sentence(way: str) -> None:
    command = [sys.executable, "-c", CODE, way]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "labelling 2,501 nodes with 2,500 classes needs about 0.6 GB of memory" in ran.stdout, ran.stderr
    assert "merge rare classes" in ran.stdout


@pytest.mark.parametrize("labels", ["values", "sets", "matrix"])
def test_every_form_of_labels_is_counted(labels: str) -> None:
    import scipy.sparse as sp

    from querist import memory
    from querist.labels import tabulate

    n = 500
    forms = {
        "values": list(range(n)),
        "sets": [{k} for k in range(n)],
        "matrix": sp.eye_array(n, format="csr"),
    }
    with memory.at_most(10_000_000), pytest.raises(InputError, match="500 nodes with 500 classes"):
        _ = tabulate(forms[labels], range(n)).indicator


def test_tables_of_the_folds_are_counted_before_they_are_made() -> None:
    """Several models and folds take three times what one method takes."""
    from querist import memory

    n = 601
    graph = querist.as_graph(np.c_[np.arange(n - 1), np.arange(1, n)])
    labels = [f"class {k % 300}" for k in range(n - 1)] + [None]
    with memory.at_most(8.0 * memory.TABLES * n * 300 * 1.5), pytest.raises(InputError, match="needs about"):
        querist.label(graph, labels)
