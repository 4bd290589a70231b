-- The correlation over pairs of rows of their distance with the distance of the means of their
-- clusters.
-- views: _points.sql
SELECT slices.slice,
       CASE WHEN stddev_pop(of_units) > 1e-9 AND stddev_pop(of_means) > 1e-9
            THEN corr(of_units, of_means) END AS value
FROM slices
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
