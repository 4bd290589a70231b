-- The mean over pairs of rows of their distance times the distance of the means of their clusters.
-- views: _points.sql
SELECT slices.slice, avg(of_units * of_means) AS value
FROM slices
LEFT JOIN distances ON distances.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
