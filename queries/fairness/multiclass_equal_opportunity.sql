-- Multi-class equal opportunity: the mean, over the true classes that both groups have, of the total
-- variation between the distributions of their predictions for that class. Reduced over all comparisons.
-- views: _groups.sql
-- views: _classes.sql
WITH cells AS (
    SELECT slice, a, b, label, pred, sum(side * part) AS apart
    FROM judged
    GROUP BY slice, a, b, label, pred
),
distances AS (
    SELECT slice, sum(CASE WHEN apart < 0 THEN 0 ELSE apart END) / count(DISTINCT label) AS distance
    FROM cells
    GROUP BY slice, a, b
)
SELECT slice, reduced(distance) AS value
FROM distances
GROUP BY slice
