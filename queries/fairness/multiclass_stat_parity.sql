-- Multi-class statistical parity: the total variation between the distributions of two groups'
-- predictions, which is the sum of the differences between the two shares of a class, over the classes
-- with a larger share in the first group than in the second. Reduced over all comparisons.
-- views: _groups.sql
-- views: _classes.sql
WITH predicted AS (
    FROM rows WHERE pred IS NOT NULL
),
parts AS (
    SELECT *, side * weight / sum(weight) OVER (PARTITION BY slice, a, b, side) AS part
    FROM comparisons(predicted)
),
classes AS (
    SELECT slice, a, b, pred, sum(part) AS apart FROM parts GROUP BY ALL
),
distances AS (
    SELECT slice, sum(CASE WHEN apart < 0 THEN 0 ELSE apart END) AS distance
    FROM classes
    GROUP BY slice, a, b
)
SELECT slice, reduced(distance) AS value
FROM distances
GROUP BY slice
