-- Mean of -log2 of the popularity share of what a user is shown, averaged over users.
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
known AS (
    -- popularity is a column of the catalogue, else how often an item is shown
    SELECT c.slice, c.item, c.times, coalesce(i.popularity, c.times) AS popularity,
           CASE WHEN i.popularity IS NULL THEN sum(c.times) OVER (PARTITION BY c.slice)
                ELSE (SELECT sum(popularity) FROM items)
           END AS total
    FROM counts AS c
    LEFT JOIN items AS i ON i.item = c.item
),
people AS (
    SELECT s.slice, s."group", s."user", avg(log2(k.total / k.popularity)) AS mean
    FROM shown AS s
    JOIN known AS k ON k.slice IS NOT DISTINCT FROM s.slice AND k.item = s.item
    GROUP BY ALL
)
SELECT z.slice, avg(p.mean) AS value
FROM slices AS z
LEFT JOIN people AS p ON p.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
