"""A graph in files to try `querist label` on: `python -m querist.labelling.example FOLDER`.

The 1,797 handwritten digits that come with scikit-learn, each joined to those that look most like it:
`edges.csv` (source, target), `nodes.csv` (node, a column a pixel) and `labels.csv` (node, label) for a few
digits of each kind. `truth.csv` holds all labels, to see how well it went.
"""

import sys
from pathlib import Path

import numpy as np

from querist.tables.arrow import pa

OF_EACH = 5
"""Labels that are given of each class."""


def write_example(folder: str | Path) -> Path:
    """Write the four files into a folder, which is made; labels are drawn at random.

    >>> sorted(path.name for path in write_example("digits").iterdir())
    ['edges.csv', 'labels.csv', 'nodes.csv', 'truth.csv']
    """
    from querist.datasets import load_graph
    from querist.tables.output import save

    place = Path(folder).expanduser()
    place.mkdir(parents=True, exist_ok=True)
    digits = load_graph("digits")
    assert digits.attributes is not None
    names = np.array([f"digit-{k:04}" for k in range(digits.n_nodes)])
    heads, tails = digits.adjacency.nonzero()
    once = heads < tails
    pixels = digits.attributes.toarray().astype(int)
    random = np.random.default_rng(0)
    rows = [np.flatnonzero(digits.codes == k) for k in range(digits.n_classes)]
    given = np.sort(np.concatenate([random.choice(own, OF_EACH, replace=False) for own in rows]))
    tables = {
        "edges": {"source": names[heads[once]], "target": names[tails[once]]},
        "nodes": {"node": names, **{f"pixel {k}": pixels[:, k] for k in range(pixels.shape[1])}},
        "labels": {"node": names[given], "label": digits.codes[given]},
        "truth": {"node": names, "label": digits.codes},
    }
    for name, columns in tables.items():
        save(pa.table(columns), place / f"{name}.csv")
    return place


if __name__ == "__main__":
    made = write_example(sys.argv[1] if len(sys.argv) > 1 else "digits")
    print(f"{made}: edges.csv, nodes.csv, labels.csv and truth.csv")
