-- What the statements on what is shown to users share.

-- One row per recommendation, with its position in the list. With repeats = 'drop' the rows of one
-- user and item are one row, with the best score.
CREATE OR REPLACE TEMP VIEW ranked AS
WITH listed AS (
    SELECT slice, "group", "user", item, max(score) AS score, min(rank) AS rank
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
    GROUP BY slice, "group", "user", item,
             CASE WHEN getvariable('repeats') = 'drop' THEN -1 ELSE recs.rowid END
)
SELECT slice, "group", "user", item, score, coalesce(rank, row_number() OVER (
    PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
)) AS position
FROM listed;

-- One row per recommendation among the first k, with the group of the item.
CREATE OR REPLACE TEMP VIEW first_k AS
SELECT r.*, i.item_group
FROM ranked AS r
LEFT JOIN items AS i ON i.item = r.item
WHERE position <= coalesce(getvariable('k'), position);

-- One row per recommendation among the first k whose item is in the catalogue; without a catalogue,
-- all of them.
CREATE OR REPLACE TEMP VIEW shown AS
FROM first_k
WHERE item IN (SELECT item FROM items) OR NOT EXISTS (FROM items);

-- One row per slice.
CREATE OR REPLACE TEMP VIEW slices AS
SELECT slice FROM ranked
UNION
SELECT slice FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL;

-- One row per slice and item of the catalogue: how often the item is shown, which share of all that
-- is shown that is, its popularity, and the sum of the popularities. Without a catalogue it is all
-- items of the slice; without a popularity it is how often the item is shown.
CREATE OR REPLACE TEMP VIEW catalogue AS
WITH every AS (
    SELECT slice, item FROM slices, items WHERE item IS NOT NULL
    UNION
    SELECT slice, item FROM ranked WHERE NOT EXISTS (FROM items)
    UNION
    SELECT slice, item FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND NOT EXISTS (FROM items)
),
counted AS (
    SELECT e.slice, e.item, count(s.item) AS times
    FROM every AS e
    LEFT JOIN shown AS s ON s.slice IS NOT DISTINCT FROM e.slice AND s.item = e.item
    GROUP BY ALL
)
SELECT c.slice, c.item, c.times,
       c.times / nullif(sum(c.times) OVER (PARTITION BY c.slice), 0) AS share,
       coalesce(i.popularity, c.times) AS popularity,
       CASE WHEN i.popularity IS NULL THEN sum(c.times) OVER (PARTITION BY c.slice)
            ELSE (SELECT sum(popularity) FROM items)
       END AS total
FROM counted AS c
LEFT JOIN items AS i ON i.item = c.item;

-- One row per pair of groups of users and item: the share of the item in what is shown to the
-- group, and in what is shown to the other side, which is another group, or with a reference the
-- reference of the group. A slice without a pair has one row of NULLs.
CREATE OR REPLACE TEMP VIEW shares_by_group AS
WITH known AS (FROM shown WHERE "group" IS NOT NULL),
groups AS (SELECT DISTINCT slice, "group" FROM known),
others AS (
    -- every group, and the rows of its other sides
    SELECT g.slice, g."group", k.item,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL ELSE k."group" END AS side
    FROM groups AS g
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM g.slice
    WHERE CASE getvariable('ref_kind')
              WHEN 'value' THEN k."group" = getvariable('ref') AND g."group" <> k."group"
              WHEN 'overall' THEN (SELECT count(*) FROM groups AS o
                                   WHERE o.slice IS NOT DISTINCT FROM g.slice) > 1
              ELSE k."group" <> g."group"
          END
),
pairs AS (
    SELECT p.slice, p."group", p.side, i.item,
           (SELECT avg((k.item = i.item)::INT) FROM known AS k
            WHERE k.slice IS NOT DISTINCT FROM p.slice AND k."group" = p."group") AS own,
           (SELECT avg((o.item = i.item)::INT) FROM others AS o
            WHERE o.slice IS NOT DISTINCT FROM p.slice AND o."group" = p."group"
              AND o.side IS NOT DISTINCT FROM p.side) AS other
    FROM (SELECT DISTINCT slice, "group", side FROM others) AS p
    JOIN (SELECT DISTINCT slice, item FROM known) AS i ON i.slice IS NOT DISTINCT FROM p.slice
)
SELECT z.slice, p.* EXCLUDE (slice)
FROM slices AS z
LEFT JOIN pairs AS p ON p.slice IS NOT DISTINCT FROM z.slice;

-- One row per group of items: the share that it should have, by the option `target`, or its share
-- of the catalogue.
CREATE OR REPLACE TEMP VIEW targets AS
WITH names AS (
    SELECT item_group FROM items WHERE item_group IS NOT NULL
    UNION
    SELECT unnest(json_keys(to_json(getvariable('target'))))
),
wanted AS (
    SELECT item_group,
           CASE WHEN getvariable('target') IS NULL
                THEN (SELECT count(*) FROM items AS i WHERE i.item_group = n.item_group)
                ELSE coalesce((to_json(getvariable('target')) ->> n.item_group)::DOUBLE, 0)
           END::DOUBLE AS wanted
    FROM names AS n
)
SELECT item_group, wanted / sum(wanted) OVER () AS target
FROM wanted;
