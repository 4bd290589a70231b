-- Jensen-Shannon divergence between the label distributions of two groups: the entropy of the mean
-- distribution minus the mean of the entropies. Of all comparisons the largest.
-- views: _groups.sql
-- views: _classes.sql
WITH terms AS (
    SELECT slice, a, b, unnest([mine, theirs, (mine + theirs) / 2]) AS p, unnest([0.5, 0.5, -1]) AS factor
    FROM label_mixes
),
distances AS (
    SELECT slice, sum(factor * CASE WHEN p = 0 THEN 0 ELSE p * ln(p) END) AS distance
    FROM terms
    GROUP BY slice, a, b
)
SELECT slice, max(distance) AS value
FROM distances
GROUP BY slice
