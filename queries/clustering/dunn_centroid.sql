-- The distance of the two nearest means of clusters over the largest distance of a row from the
-- mean of its cluster.
-- views: _points.sql
WITH widths AS (
    SELECT m.slice, m.cluster, m.x, m.y, m.n, max(distance(u.x, u.y, m.x, m.y)) AS width
    FROM means AS m
    JOIN units AS u ON u.slice IS NOT DISTINCT FROM m.slice AND u.cluster = m.cluster
    GROUP BY ALL
),
found AS (
    SELECT a.slice, min(distance(a.x, a.y, b.x, b.y)) AS nearest, max(a.width) AS farthest,
           max(a.n) AS most
    FROM widths AS a
    JOIN widths AS b ON a.slice IS NOT DISTINCT FROM b.slice AND a.cluster <> b.cluster
    GROUP BY a.slice
)
SELECT slices.slice,
       CASE WHEN most < 2 OR (nearest = 0 AND farthest = 0) THEN NULL
            ELSE nearest / farthest END AS value
FROM slices
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM slices.slice
