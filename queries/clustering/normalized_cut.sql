-- The sum over clusters of the share of the distances from the cluster's rows that lead to other
-- clusters.
-- views: _points.sql
SELECT slices.slice,
       CASE WHEN min(volume) > 0 THEN sum((volume - inside) / nullif(volume, 0)) END AS value
FROM slices
LEFT JOIN volumes ON volumes.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
