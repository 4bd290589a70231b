-- The sum over clusters of the weight of the edges that leave the cluster over the weight of all
-- edge ends in it.
-- views: _edges.sql
WITH clusters AS (
    SELECT slice, sum(CASE WHEN here <> there THEN weight ELSE 0 END) / sum(weight) AS share
    FROM ends
    GROUP BY slice, here
)
SELECT slice, sum(share) AS value
FROM clusters
GROUP BY slice
