-- Multi-class statistical parity: the total variation between the prediction mixes of two groups,
-- reduced (mean or max) over all pairs of groups, or over the pairs with the reference.
WITH known AS (
    SELECT slice, "group", pred, weight
    FROM rows
    WHERE "group" IS NOT NULL AND pred IS NOT NULL AND weight > 0
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
    SELECT p.*, 1 AS side, k.pred, weight
    FROM pairs AS p
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM p.slice AND k."group" = p.a
    UNION ALL
    SELECT p.*, -1, k.pred, weight
    FROM pairs AS p
    JOIN known AS k
        ON k.slice IS NOT DISTINCT FROM p.slice
        AND (getvariable('ref_kind') = 'overall' OR k."group" = p.b
             OR p.b IS NULL AND k."group" <> p.a)
),
shares AS (
    SELECT *, weight / sum(weight) OVER (PARTITION BY slice, a, b, side) AS share
    FROM seen
),
mixes AS (
    SELECT slice, a, b, pred, sum(side * share) AS apart
    FROM shares
    GROUP BY ALL
),
distances AS (
    -- what one mix has too much, the other has too little
    SELECT slice, a, b, sum(greatest(apart, 0)) AS distance
    FROM mixes
    GROUP BY ALL
)
SELECT everyone.slice,
       CASE WHEN getvariable('reduce') = 'max' THEN max(distance) ELSE avg(distance) END AS value
FROM (SELECT DISTINCT slice FROM rows) AS everyone
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM everyone.slice
GROUP BY everyone.slice
