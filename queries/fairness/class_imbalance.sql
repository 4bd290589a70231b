-- Class imbalance: (n - m) / (n + m), where n and m are the weights of two groups.
-- views: _groups.sql
WITH sizes AS (
    SELECT slice, sum(weight) FILTER (side = 1) AS n, sum(weight) FILTER (side = -1) AS m
    FROM comparisons(rows)
    GROUP BY slice, a, b
)
SELECT slice, strongest((n - m) / (n + m)) AS value
FROM sizes
GROUP BY slice
