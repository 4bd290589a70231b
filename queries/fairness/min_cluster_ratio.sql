-- The weight of a group over the weight of the reference in a cluster: the smallest ratio of all
-- comparisons and of all clusters with a row of either. Without a reference every pair of groups is
-- compared in both orders.
-- views: _groups.sql
-- views: _clusters.sql
SELECT slice, min(mine / theirs) FILTER (mine + theirs > 0) AS value
FROM cluster_mixes
GROUP BY slice
