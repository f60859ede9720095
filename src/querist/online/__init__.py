"""One node at a time: predict, maybe ask, maybe learn."""

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
        "CoverLearner": ".pounce",
        "Decision": ".trace",
        "Epsilon": ".rules",
        "Factory": ".catalogue",
        "Learner": ".learner",
        "LogConfidence": ".rules",
        "MarginUncertainty": ".rules",
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
        "gpa": ".catalogue",
        "msg": ".catalogue",
        "ollgc": ".catalogue",
        "random_sampling": ".catalogue",
        "sslgc": ".catalogue",
    },
)

if TYPE_CHECKING:
    from querist.online.catalogue import ALGORITHMS as ALGORITHMS
    from querist.online.catalogue import Composition as Composition
    from querist.online.catalogue import Factory as Factory
    from querist.online.catalogue import bbq as bbq
    from querist.online.catalogue import bbq_eps as bbq_eps
    from querist.online.catalogue import cmog as cmog
    from querist.online.catalogue import cmog_selected as cmog_selected
    from querist.online.catalogue import dgs as dgs
    from querist.online.catalogue import gpa as gpa
    from querist.online.catalogue import msg as msg
    from querist.online.catalogue import ollgc as ollgc
    from querist.online.catalogue import random_sampling as random_sampling
    from querist.online.catalogue import sslgc as sslgc
    from querist.online.checks import Answer as Answer
    from querist.online.checks import Reply as Reply
    from querist.online.learner import Learner as Learner
    from querist.online.pounce import CoverLearner as CoverLearner
    from querist.online.rules import Always as Always
    from querist.online.rules import Confidence as Confidence
    from querist.online.rules import Epsilon as Epsilon
    from querist.online.rules import LogConfidence as LogConfidence
    from querist.online.rules import MarginUncertainty as MarginUncertainty
    from querist.online.rules import QueryRule as QueryRule
    from querist.online.rules import Random as Random
    from querist.online.rules import Scheme as Scheme
    from querist.online.rules import Target as Target
    from querist.online.rules import Update as Update
    from querist.online.rules import Variance as Variance
    from querist.online.trace import Decision as Decision
    from querist.online.trace import Problems as Problems
    from querist.online.trace import Trace as Trace
