-- Multi-class true positive difference: per pair of groups, the mean absolute gap in recall over
-- the true classes that both have; reduced over pairs.
WITH known AS (
    SELECT slice, "group", pred, label, weight
    FROM rows
    WHERE "group" IS NOT NULL AND pred IS NOT NULL AND label IS NOT NULL AND weight > 0
),
pairs AS (
    -- (group, whom it is set against); NULL stands for everyone, or everyone else
    SELECT DISTINCT a.slice, a."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL
                ELSE b."group" END AS b
    FROM known AS a
    JOIN known AS b ON a.slice IS NOT DISTINCT FROM b.slice
    WHERE a."group" <> b."group"
        AND CASE WHEN getvariable('ref_kind') IS NULL THEN a."group" < b."group"
                 WHEN getvariable('ref_kind') = 'value' THEN b."group" = getvariable('ref')
                 ELSE TRUE END
),
seen AS (
    -- the rows of either side, +1 and -1
    SELECT p.*, 1 AS side, k.pred, k.label, weight
    FROM pairs AS p
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM p.slice AND k."group" = p.a
    UNION ALL
    SELECT p.*, -1, k.pred, k.label, weight
    FROM pairs AS p
    JOIN known AS k
        ON k.slice IS NOT DISTINCT FROM p.slice
        AND (getvariable('ref_kind') = 'overall' OR k."group" = p.b
             OR p.b IS NULL AND k."group" <> p.a)
),
classes AS (
    SELECT DISTINCT slice, unnest([pred, label]) AS class FROM known
),
filled AS (
    -- unseen = 'uniform': a side without a true class gets a made-up row of it per prediction
    SELECT * FROM seen
    UNION ALL
    SELECT p.*, s.side, guess.class, truth.class, 1
    FROM pairs AS p
    JOIN (VALUES (1), (-1)) AS s (side) ON getvariable('unseen') = 'uniform'
    JOIN classes AS truth ON truth.slice IS NOT DISTINCT FROM p.slice
    JOIN classes AS guess ON guess.slice IS NOT DISTINCT FROM p.slice
    WHERE NOT EXISTS (
        FROM seen
        WHERE seen.slice IS NOT DISTINCT FROM p.slice AND seen.a = p.a
            AND seen.b IS NOT DISTINCT FROM p.b AND seen.side = s.side AND seen.label = truth.class
    )
),
shares AS (
    SELECT *,
           weight / sum(weight) OVER (PARTITION BY slice, a, b, side, label) AS share,
           min(side) OVER pair < max(side) OVER pair AS shared
    FROM filled
    WINDOW pair AS (PARTITION BY slice, a, b, label)
),
recalls AS (
    SELECT slice, a, b, label, sum(side * share * (pred = label)::INT) AS apart
    FROM shares
    WHERE shared
    GROUP BY ALL
),
distances AS (
    SELECT slice, a, b, avg(abs(apart)) AS distance
    FROM recalls
    GROUP BY ALL
)
SELECT everyone.slice,
       CASE WHEN getvariable('reduce') = 'max' THEN max(distance) ELSE avg(distance) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
