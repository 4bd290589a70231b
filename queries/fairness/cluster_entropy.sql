-- Cluster entropy: the mean over rows of minus the logarithm of the share of rows in their cluster.
-- views: _groups.sql
WITH known AS (
    SELECT slice, weight,
           -ln(sum(weight) OVER (PARTITION BY slice, cluster) / sum(weight) OVER (PARTITION BY slice))
               / ln(coalesce(getvariable('base'), exp(1))) AS surprise
    FROM rows
    WHERE cluster IS NOT NULL AND weight > 0
)
SELECT slices.slice, mean_of(surprise, true) AS value
FROM slices
LEFT JOIN known ON known.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
