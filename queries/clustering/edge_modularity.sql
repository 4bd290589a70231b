-- The share of edge ends whose edge stays in their cluster, minus the probability that two ends
-- drawn at random are in the same cluster.
-- views: _edges.sql
WITH drawn AS (
    SELECT one.slice,
           sum(one.weight * two.weight) FILTER (one.here = two.here)
           / sum(one.weight * two.weight) AS probability
    FROM ends AS one
    JOIN ends AS two ON one.slice IS NOT DISTINCT FROM two.slice
    GROUP BY one.slice
)
SELECT ends.slice,
       sum(CASE WHEN here = there THEN weight ELSE 0 END) / sum(weight) - probability AS value
FROM ends
JOIN drawn ON drawn.slice IS NOT DISTINCT FROM ends.slice
GROUP BY ends.slice, probability
