-- Total variation between two groups' distributions over clusters: the sum of the differences between the
-- two shares of a cluster, over the clusters with a larger share in the first group than in the second. Of
-- all comparisons the largest.
-- views: _groups.sql
-- views: _clusters.sql
WITH distances AS (
    SELECT slice, sum(CASE WHEN p < q THEN 0 ELSE p - q END) AS distance
    FROM cluster_mixes
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
