-- The harmonic mean of precision and recall of the commonest label of a cluster; for noise, the
-- mean over its rows.
-- views: _contingency.sql
SELECT slice, cluster, avg(2 / (in_cluster / shared + of_label / shared)) AS value
FROM commonest
WHERE cluster IS NOT NULL
GROUP BY slice, cluster
