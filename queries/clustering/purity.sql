-- The share of rows whose label is the commonest of their cluster.
-- views: _contingency.sql
SELECT slice, sum(shared) / sum(in_cluster) AS value
FROM commonest
GROUP BY slice
