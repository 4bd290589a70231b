-- The mean distance of pairs within clusters over the mean distance of pairs between clusters.
-- views: _points.sql
WITH found AS (
    SELECT slice, avg(apart) FILTER (cluster = other) AS inside,
           avg(apart) FILTER (cluster <> other) AS outside
    FROM pairs
    GROUP BY slice
)
SELECT slices.slice,
       CASE WHEN inside = 0 AND outside = 0 THEN NULL ELSE inside / outside END AS value
FROM slices
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM slices.slice
