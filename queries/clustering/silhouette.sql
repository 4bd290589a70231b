-- The mean over rows of (b - a) / max(a, b), where a is the mean distance to the other rows of the
-- cluster and b that to the rows of the nearest other cluster. 0 for a row alone in its cluster,
-- and where a and b are 0.
-- views: _points.sql
SELECT slices.slice,
       avg(CASE WHEN outside IS NULL THEN NULL
                WHEN inside IS NULL OR greatest(inside, outside) = 0 THEN 0
                ELSE (outside - inside) / greatest(inside, outside) END) AS value
FROM slices
LEFT JOIN neighbours ON neighbours.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
