"""Validation of clusterings."""

from polarsfair._engine import unknown as _unknown
from polarsfair._engine.compare import *
from polarsfair.clustering._external.contingency import *
from polarsfair.clustering._external.information import *
from polarsfair.clustering._external.matching import *
from polarsfair.clustering._external.pair_counts import *
from polarsfair.clustering._graph import *
from polarsfair.clustering._internal.centroids import *
from polarsfair.clustering._internal.distance_sums import *
from polarsfair.clustering._internal.distances import *
from polarsfair.clustering._internal.points import *
from polarsfair.clustering._internal.silhouette import *
from polarsfair.clustering._internal.silhouette_estimate import *
from polarsfair.clustering._pairs.c_index import *
from polarsfair.clustering._pairs.dunn import *
from polarsfair.clustering._relative import *
from polarsfair.clustering._tendency.hopkins import *
from polarsfair.clustering._tendency.uniformity import *

# Not a function of this name, after which a type checker would accept every attribute.
globals()["__getattr__"] = _unknown.getattr_of(__name__)
