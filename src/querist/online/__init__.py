"""One node at a time: predict, maybe ask, maybe learn.

>>> import querist
>>> club = querist.load_graph("karate")
>>> learner = querist.online.ALGORITHMS["msg"](querist.embed(club, 4, cache=False), 2, budget=5)
>>> learner.run(range(34), club.codes).questions
5
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "ALGORITHMS": ".catalogue",
        "Always": ".rules",
        "Answer": ".checks",
        "Composition": ".catalogue",
        "Confidence": ".rules",
        "CoverLearner": ".cover_learner",
        "Decision": ".trace",
        "Epsilon": ".rules",
        "Factory": ".catalogue",
        "FastonlLearner": ".fastonl_learner",
        "Learner": ".learner",
        "LogConfidence": ".rules",
        "MarginThreshold": ".rules",
        "MarginUncertainty": ".rules",
        "PacedLearner": ".paced_learner",
        "Problems": ".trace",
        "QueryRule": ".rules",
        "Random": ".rules",
        "Reply": ".checks",
        "Scheme": ".rules",
        "Target": ".rules",
        "Trace": ".trace",
        "Update": ".rules",
        "Variance": ".rules",
        "bbq": ".catalogue",
        "bbq_eps": ".catalogue",
        "cmog": ".catalogue",
        "cmog_selected": ".catalogue",
        "dgs": ".catalogue",
        "fastonl": ".fastonl_learner",
        "gpa": ".catalogue",
        "margin_threshold": ".catalogue",
        "msg": ".catalogue",
        "nearest": ".cover_learner",
        "ollgc": ".catalogue",
        "paced": ".paced_learner",
        "pounce": ".cover_learner",
        "random_sampling": ".catalogue",
        "sslgc": ".catalogue",
    },
)

if TYPE_CHECKING:
    from querist.online.catalogue import (
        ALGORITHMS as ALGORITHMS,
        Composition as Composition,
        Factory as Factory,
        bbq as bbq,
        bbq_eps as bbq_eps,
        cmog as cmog,
        cmog_selected as cmog_selected,
        dgs as dgs,
        gpa as gpa,
        margin_threshold as margin_threshold,
        msg as msg,
        ollgc as ollgc,
        random_sampling as random_sampling,
        sslgc as sslgc,
    )
    from querist.online.checks import Answer as Answer, Reply as Reply
    from querist.online.cover_learner import (
        CoverLearner as CoverLearner,
        nearest as nearest,
        pounce as pounce,
    )
    from querist.online.fastonl_learner import FastonlLearner as FastonlLearner, fastonl as fastonl
    from querist.online.learner import Learner as Learner
    from querist.online.paced_learner import PacedLearner as PacedLearner, paced as paced
    from querist.online.rules import (
        Always as Always,
        Confidence as Confidence,
        Epsilon as Epsilon,
        LogConfidence as LogConfidence,
        MarginThreshold as MarginThreshold,
        MarginUncertainty as MarginUncertainty,
        QueryRule as QueryRule,
        Random as Random,
        Scheme as Scheme,
        Target as Target,
        Update as Update,
        Variance as Variance,
    )
    from querist.online.trace import Decision as Decision, Problems as Problems, Trace as Trace
