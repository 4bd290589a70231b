-- The smallest distance of two rows of different clusters over the largest distance of two rows of
-- one cluster.
-- views: _points.sql
WITH found AS (
    SELECT slice, min(apart) FILTER (cluster <> other) AS nearest,
           max(apart) FILTER (cluster = other) AS farthest
    FROM pairs
    GROUP BY slice
)
SELECT slices.slice,
       CASE WHEN nearest = 0 AND farthest = 0 THEN NULL ELSE nearest / farthest END AS value
FROM slices
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM slices.slice
