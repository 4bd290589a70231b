-- Share of what is shown that is not of the most popular items, a fifth of the catalogue unless told.
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
ordered AS (
    SELECT slice, times,
           row_number() OVER (PARTITION BY slice ORDER BY popularity DESC, item) AS turn,
           count(*) OVER (PARTITION BY slice) AS size
    FROM known
)
SELECT z.slice,
       coalesce(sum(o.times) FILTER (turn > ceil(round(size * coalesce(getvariable('head'), 0.2), 9))), 0)
           / nullif(sum(o.times), 0) AS value
FROM slices AS z
LEFT JOIN ordered AS o ON o.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
