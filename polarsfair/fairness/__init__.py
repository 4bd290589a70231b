"""Fairness between groups of people."""

from polarsfair._compare import *
from polarsfair.fairness import mitigation as mitigation
from polarsfair.fairness._by_class import *
from polarsfair.fairness._classes import *
from polarsfair.fairness._clusters import *
from polarsfair.fairness._consistency import *
from polarsfair.fairness._decisions import *
from polarsfair.fairness._error_gaps import *
from polarsfair.fairness._individual import *
from polarsfair.fairness._labels import *
from polarsfair.fairness._nearest import *
from polarsfair.fairness._outcomes import *
from polarsfair.fairness._regression import *
from polarsfair.fairness._regression_levels import *
from polarsfair.fairness._roc_areas import *
from polarsfair.fairness._score_curves import *
from polarsfair.fairness._scores import *
from polarsfair.fairness._selection_gaps import *
from polarsfair.fairness._silhouette import *
from polarsfair.fairness._surrogate import *
