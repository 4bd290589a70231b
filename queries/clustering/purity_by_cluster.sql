-- The share of the rows of a cluster that have its commonest label.
-- views: _contingency.sql
SELECT slice, cluster, avg(shared / in_cluster) AS value
FROM commonest
WHERE cluster IS NOT NULL
GROUP BY slice, cluster
