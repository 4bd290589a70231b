"""Validation of clusterings."""

from polarsfair._compare import *
from polarsfair.clustering._choose import *
from polarsfair.clustering._contingency import *
from polarsfair.clustering._edges import *
from polarsfair.clustering._estimate import *
from polarsfair.clustering._hopkins import *
from polarsfair.clustering._information import *
from polarsfair.clustering._matching import *
from polarsfair.clustering._moments import *
from polarsfair.clustering._pairs import *
from polarsfair.clustering._radii import *
from polarsfair.clustering._ranks import *
from polarsfair.clustering._scatter import *
from polarsfair.clustering._separation import *
from polarsfair.clustering._silhouette_rows import *
from polarsfair.clustering._silhouettes import *
from polarsfair.clustering._tendency import *
from polarsfair.clustering._volumes import *
