-- The share of edge ends that meet an end of their own cluster, less the chance that two ends drawn
-- at random share a cluster.
WITH known AS (
    FROM edges WHERE cluster IS NOT NULL AND other IS NOT NULL AND weight > 0
),
ends AS (
    SELECT slice, cluster AS here, other AS there, weight FROM known
    UNION ALL
    SELECT slice, other, cluster, weight FROM known
),
drawn AS (
    SELECT one.slice,
           sum(one.weight * two.weight) FILTER (one.here = two.here)
           / sum(one.weight * two.weight) AS chance
    FROM ends AS one
    JOIN ends AS two ON one.slice IS NOT DISTINCT FROM two.slice
    GROUP BY one.slice
),
met AS (
    SELECT slice, coalesce(sum(weight) FILTER (here = there), 0) / sum(weight) AS share
    FROM ends
    GROUP BY slice
)
SELECT every.slice, met.share - drawn.chance AS value
FROM (SELECT DISTINCT slice FROM edges) AS every
LEFT JOIN met ON met.slice IS NOT DISTINCT FROM every.slice
LEFT JOIN drawn ON drawn.slice IS NOT DISTINCT FROM every.slice
