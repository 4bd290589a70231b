-- Mean cosine distance of the first k of two users' lists, over all pairs of users.
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
lists AS (
    SELECT slice, "group", "user", list(item) AS items FROM held GROUP BY ALL
)
SELECT z.slice,
       avg(1 - len(list_intersect(a.items, b.items)) / sqrt(len(a.items) * len(b.items))) AS value
FROM (SELECT DISTINCT slice FROM placed) AS z
LEFT JOIN (
    lists AS a JOIN lists AS b
        ON b.slice IS NOT DISTINCT FROM a.slice AND b."user" > a."user"
) ON a.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
