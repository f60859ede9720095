"""A label for every node from some: representations, members, pooling, calibration, an estimate."""

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "Choice": ".choice",
        "Estimate": ".calibrate",
        "FilesLabelled": ".files",
        "GraphFiles": ".files",
        "Labelling": ".labelling",
        "MEMBERS": ".members",
        "Member": ".workspace",
        "Score": ".choice",
        "extend": ".growth",
        "from_files": ".files",
        "influences": ".influence",
        "join": ".growth",
        "keep_up": ".growth",
        "label": ".labelling",
        "read_seeds": ".seeds",
        "read_source": ".reading",
        "write_example": ".example",
    },
)
