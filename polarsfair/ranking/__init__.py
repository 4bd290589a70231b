"""Quality, diversity and exposure of recommendations, and for whom."""

from polarsfair._compare import *
from polarsfair.ranking._audiences import *
from polarsfair.ranking._catalogue import *
from polarsfair.ranking._diversity import *
from polarsfair.ranking._exposure import *
from polarsfair.ranking._gains import *
from polarsfair.ranking._item_groups import *
from polarsfair.ranking._lists import *
from polarsfair.ranking._matches import *
from polarsfair.ranking._outcomes import *
from polarsfair.ranking._quality import *
from polarsfair.ranking._reports import *
