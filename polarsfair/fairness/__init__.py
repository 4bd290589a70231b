"""Fairness between groups of people."""

from polarsfair._engine import unknown as _unknown
from polarsfair._engine.compare import *
from polarsfair.fairness import mitigation as mitigation
from polarsfair.fairness._classes.by_class import *
from polarsfair.fairness._classes.distances import *
from polarsfair.fairness._classes.labels import *
from polarsfair.fairness._classes.quality import *
from polarsfair.fairness._clusters.centroids import *
from polarsfair.fairness._clusters.shares import *
from polarsfair.fairness._clusters.silhouette import *
from polarsfair.fairness._decisions.agreement import *
from polarsfair.fairness._decisions.benefits import *
from polarsfair.fairness._decisions.errors import *
from polarsfair.fairness._decisions.rates import *
from polarsfair.fairness._decisions.selection import *
from polarsfair.fairness._individuals.consistency import *
from polarsfair.fairness._individuals.surrogate import *
from polarsfair.fairness._outcomes.levels import *
from polarsfair.fairness._outcomes.moments import *
from polarsfair.fairness._outcomes.quality import *
from polarsfair.fairness._outcomes.top import *
from polarsfair.fairness._scores.curves import *
from polarsfair.fairness._scores.quality import *
from polarsfair.fairness._scores.roc_area import *

# Not a function of this name, after which a type checker would accept every attribute.
globals()["__getattr__"] = _unknown.getattr_of(__name__)
