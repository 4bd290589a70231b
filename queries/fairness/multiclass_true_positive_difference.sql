-- Multi-class true positive difference: the mean, over the true classes that both groups have, of the
-- distance between their recalls. Reduced over all comparisons.
-- views: _groups.sql
-- views: _classes.sql
WITH recalls AS (
    SELECT slice, a, b, label, sum(side * part * (pred = label)::INT) AS apart
    FROM judged
    GROUP BY slice, a, b, label
),
distances AS (
    SELECT slice, avg(abs(apart)) AS distance
    FROM recalls
    GROUP BY slice, a, b
)
SELECT slice, reduced(distance) AS value
FROM distances
GROUP BY slice
