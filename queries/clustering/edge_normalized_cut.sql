-- Cluster by cluster, the weight of edges that leave it over that of all edge ends in it, added up.
WITH known AS (
    FROM edges WHERE cluster IS NOT NULL AND other IS NOT NULL AND weight > 0
),
names AS (
    SELECT slice, cluster AS name FROM known
    UNION
    SELECT slice, other FROM known
),
shares AS (
    SELECT names.slice, name,
           coalesce(sum(weight) FILTER (cluster <> other), 0)
           / sum(CASE WHEN cluster = other THEN 2 * weight ELSE weight END) AS share
    FROM names
    JOIN known ON known.slice IS NOT DISTINCT FROM names.slice AND name IN (cluster, other)
    GROUP BY names.slice, name
),
found AS (
    SELECT slice, sum(share) AS cut FROM shares GROUP BY slice
)
SELECT every.slice, cut AS value
FROM (SELECT DISTINCT slice FROM edges) AS every
LEFT JOIN found ON found.slice IS NOT DISTINCT FROM every.slice
