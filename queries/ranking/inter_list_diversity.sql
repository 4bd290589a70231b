-- The mean cosine distance of the first k of two users' lists, as sets of items, over all pairs of
-- users.
-- views: _exposure.sql
-- n of: (SELECT DISTINCT slice, "group", "user" FROM first_k)
-- n: true
WITH lists AS (
    SELECT slice, "user", list(DISTINCT item) AS items
    FROM first_k
    GROUP BY slice, "group", "user"
)
SELECT z.slice,
       avg(1 - len(list_intersect(a.items, b.items)) / sqrt(len(a.items) * len(b.items))) AS value
FROM (SELECT DISTINCT slice FROM ranked) AS z
LEFT JOIN (
    lists AS a JOIN lists AS b
        ON b.slice IS NOT DISTINCT FROM a.slice AND b."user" > a."user"
) ON a.slice IS NOT DISTINCT FROM z.slice
GROUP BY z.slice
