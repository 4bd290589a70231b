-- Kullback-Leibler divergence of what a user group is shown from what another is shown: the largest of all
-- ordered pairs, or against a reference.
WITH placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
    )) AS place
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
),
shown AS (
    -- the first k of every list, without what the catalogue does not hold
    SELECT * FROM placed
    WHERE place <= coalesce(getvariable('k'), place)
      AND (item IN (SELECT item FROM items) OR NOT EXISTS (FROM items))
),
slices AS (
    SELECT slice FROM placed
    UNION
    SELECT slice FROM actual WHERE "user" IS NOT NULL AND item IS NOT NULL
),
catalogue AS (
    SELECT slice, item FROM slices, items WHERE item IS NOT NULL
    UNION
    SELECT slice, item FROM placed WHERE NOT EXISTS (FROM items)
    UNION
    SELECT slice, item FROM actual
    WHERE "user" IS NOT NULL AND item IS NOT NULL AND NOT EXISTS (FROM items)
),
times AS (
    SELECT c.slice, c.item, count(s.item) AS times
    FROM catalogue AS c
    LEFT JOIN shown AS s ON s.slice IS NOT DISTINCT FROM c.slice AND s.item = c.item
    GROUP BY ALL
),
counts AS (
    SELECT *, times / nullif(sum(times) OVER (PARTITION BY slice), 0) AS share FROM times
),
groups AS (SELECT DISTINCT slice, "group" FROM shown WHERE "group" IS NOT NULL),
others AS (
    -- every group beside the rows of the other side
    SELECT g.slice, g."group", s.item,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL ELSE s."group" END AS side
    FROM groups AS g
    JOIN shown AS s ON s.slice IS NOT DISTINCT FROM g.slice AND s."group" IS NOT NULL
    WHERE CASE getvariable('ref_kind')
              WHEN 'value' THEN s."group" = getvariable('ref') AND g."group" <> s."group"
              WHEN 'overall' THEN (SELECT count(*) FROM groups AS o
                                   WHERE o.slice IS NOT DISTINCT FROM g.slice) > 1
              ELSE s."group" <> g."group"
          END
),
pairs AS (SELECT DISTINCT slice, "group", side FROM others),
shares AS (
    SELECT p.slice, p."group", p.side, c.item,
           (SELECT avg((s.item = c.item)::INT) FROM shown AS s
            WHERE s.slice IS NOT DISTINCT FROM p.slice AND s."group" = p."group") AS mine,
           (SELECT avg((o.item = c.item)::INT) FROM others AS o
            WHERE o.slice IS NOT DISTINCT FROM p.slice AND o."group" = p."group"
              AND o.side IS NOT DISTINCT FROM p.side) AS theirs
    FROM pairs AS p
    JOIN (SELECT DISTINCT slice, item FROM shown) AS c ON c.slice IS NOT DISTINCT FROM p.slice
),
apart AS (
    SELECT slice, "group", side, sum(CASE WHEN mine > 0 THEN mine * ln(mine / theirs) ELSE 0 END) AS value
    FROM shares
    GROUP BY ALL
)
SELECT z.slice, max(a.value) AS value
FROM slices AS z
LEFT JOIN apart AS a ON a.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
