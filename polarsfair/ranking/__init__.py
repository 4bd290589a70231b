"""Quality, diversity and exposure of recommendations, and for whom."""

from polarsfair._engine import unknown as _unknown
from polarsfair._engine.compare import *
from polarsfair.ranking._lists.gains import *
from polarsfair.ranking._lists.masks import *
from polarsfair.ranking._lists.quality import *
from polarsfair.ranking._lists.reports import *
from polarsfair.ranking._matches.by_user import *
from polarsfair.ranking._matches.outcomes import *
from polarsfair.ranking._matches.pairs import *
from polarsfair.ranking._shown.catalogue import *
from polarsfair.ranking._shown.diversity import *
from polarsfair.ranking._shown.exposure import *
from polarsfair.ranking._shown.finds import *
from polarsfair.ranking._shown.item_groups import *
from polarsfair.ranking._shown.surprises import *
from polarsfair.ranking._shown.user_groups import *
from polarsfair.ranking._trec import *

# Not a function of this name, after which a type checker would accept every attribute.
globals()["__getattr__"] = _unknown.getattr_of(__name__)
