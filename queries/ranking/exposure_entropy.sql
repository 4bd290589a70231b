-- Entropy of how often items are shown, in nats.
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
)
SELECT z.slice, sum(c.share * ln(1 / c.share)) AS value
FROM slices AS z
LEFT JOIN counts AS c ON c.slice IS NOT DISTINCT FROM z.slice AND c.times > 0
GROUP BY z.slice
