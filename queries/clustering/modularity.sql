-- The share of the sum of all distances that is within clusters, minus the sum over clusters of the
-- squared share of the distances that start in the cluster.
-- views: _points.sql
WITH shares AS (
    SELECT slice, inside / nullif(sum(volume) OVER (PARTITION BY slice), 0) AS inside,
           volume / nullif(sum(volume) OVER (PARTITION BY slice), 0) AS volume
    FROM volumes
)
SELECT slices.slice, sum(inside - volume * volume) AS value
FROM slices
LEFT JOIN shares ON shares.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
