-- Mean cosine distance of two items among the first k of a list, averaged over lists with two items.
WITH listed AS (
    -- with repeats = 'drop' an item that is listed twice is left once before lists are cut
    SELECT slice, "group", "user", item, max(score) AS score, min(rank) AS rank
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
    GROUP BY slice, "group", "user", item,
             CASE WHEN getvariable('repeats') = 'drop' THEN -1 ELSE recs.rowid END
),
placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
    )) AS place
    FROM listed
),
held AS (
    SELECT DISTINCT slice, "group", "user", item FROM placed
    WHERE place <= coalesce(getvariable('k'), place)
),
known AS (
    SELECT h.*, i.x, i.y, i.z, sqrt(i.x * i.x + i.y * i.y + i.z * i.z) AS length
    FROM held AS h
    JOIN items AS i ON i.item = h.item
    WHERE i.x IS NOT NULL AND i.y IS NOT NULL AND i.z IS NOT NULL
),
lists AS (
    SELECT a.slice, a."group", a."user",
           avg(1 - coalesce((a.x * b.x + a.y * b.y + a.z * b.z)
                            / nullif(a.length * b.length, 0), 0)) AS distance
    FROM known AS a
    JOIN known AS b
        ON b.slice IS NOT DISTINCT FROM a.slice AND b."user" = a."user" AND b.item > a.item
    GROUP BY ALL
)
SELECT z.slice, avg(l.distance) AS value
FROM (SELECT DISTINCT slice FROM placed) AS z
LEFT JOIN lists AS l ON l.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
