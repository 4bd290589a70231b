-- (S - L) / (H - L), where S is the sum of the m distances within clusters, L the sum of the m
-- smallest of all distances, and H the sum of the m largest.
-- views: _points.sql
WITH ordered AS (
    SELECT slice, apart, cluster = other AS same,
           row_number() OVER (PARTITION BY slice ORDER BY apart) AS up,
           row_number() OVER (PARTITION BY slice ORDER BY apart DESC) AS down,
           count(*) FILTER (cluster = other) OVER (PARTITION BY slice) AS m
    FROM pairs
),
sums AS (
    SELECT slice, sum(apart) FILTER (same) AS s, sum(apart) FILTER (up <= m) AS l,
           sum(apart) FILTER (down <= m) AS h
    FROM ordered
    GROUP BY slice
)
SELECT slices.slice, CASE WHEN h - l > 1e-12 * h THEN (s - l) / (h - l) END AS value
FROM slices
LEFT JOIN sums ON sums.slice IS NOT DISTINCT FROM slices.slice
